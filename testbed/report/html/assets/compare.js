// Several runs side by side: quantities with their difference from the first, bars, and curves on one time axis.

document.getElementById("title").textContent = data.title;
document.getElementById("runs").append(...data.runs.map((run) => {
  const item = element("li");
  item.append(element("strong", run.name), `: ${run.title} (${run.about.join(" · ")}). ${spaced(run.answer)}`);
  return item;
}));

function showQuantities(place) {
  const table = element("table"), top = element("tr"), body = element("tbody"), head = element("thead");
  top.append(element("th", "", "text"), ...data.runs.map((run) => element("th", run.name)));
  head.append(top);
  for (const { name, values, texts, less_is_better: less } of data.quantities) {
    const line = element("tr"), title = element("th", name, "text");
    title.scope = "row";
    line.append(title, ...values.map((value, index) => {
      const cell = element("td", spaced(texts[index]) || "–"), first = values[0];
      if (index && value !== null && first !== null && value !== first) {
        const better = less === null ? "quiet" : (value < first) === less ? "good" : "bad";
        const part = first ? (value - first) / first : null;
        cell.append(" ", element("span", part === null ? "new" : part > 9 ? `×${Number((value / first).toPrecision(3)).toLocaleString("en")}` : `${part > 0 ? "+" : "−"}${Math.abs(100 * part).toPrecision(3)} %`, better));
      }
      return cell;
    }));
    body.append(line);
  }
  table.append(head, body);
  place.classList.add("scroll");
  place.append(table);
}

const names = data.runs.map((run) => run.name);
const few = () => 60 + 30 * names.length;
const times = data.quantities.find((quantity) => quantity.name === "completion time")?.values ?? data.runs.map((run) => run.duration_ps);
const kinds = [...new Set(data.runs.flatMap((run) => Object.keys(run.kinds)))];
showQuantities(document.getElementById("results"));
plot(document.getElementById("times"), "Completion time of each run", few, () => ({ ...causesOption(names, ["time"], (name) => times[names.indexOf(name)]), legend: undefined }), false);
if (kinds.length) plot(document.getElementById("causes"), "Time lost by cause in each run", few, () => causesOption(names, kinds, (name, kind) => data.runs[names.indexOf(name)].causes[kind] ?? 0), false);
else lacking(document.getElementById("causes"), "No run lost time, or none looked for causes (measure: {causes: true}).");

// All runs have the same two scales, so that heights can be compared.
const most = (key, factor) => Math.max(1, ...data.runs.map((run) => run[key].reduce((high, value) => Math.max(high, value * factor(run)), 0)));
const bits = (run) => 8e12 / run.interval_ps;
const scales = { deepest: most("deepest", () => 1), sent: most("sent", bits) };
const multiples = document.getElementById("multiples");
for (const [key, title, write, factor] of [["deepest", "deepest queue", size, () => 1], ["sent", "all hosts send", rate, bits]]) {
  const row = element("div");
  multiples.append(row);
  for (const run of data.runs) {
    const box = element("div"), place = element("div");
    box.append(element("h3", `${run.name}: ${title}`), place);
    row.append(box);
    if (!run.intervals) { lacking(place, "The run kept no time series (measure: {series: true} records them)."); continue; }
    plot(place, `${run.name}: ${title} over time`, () => 180, () => ({
      color: palette, tooltip: tooltip(write), grid: { left: 84, right: 16, top: 12, bottom: 26 }, xAxis: timeAxis(), yAxis: key === "deepest" ? sizeAxis(scales[key]) : valueAxis(write, { max: Math.ceil(scales[key] / 1e11) * 1e11 }),
      series: [{ type: "line", name: title, step: "end", symbol: "none", areaStyle: { opacity: 0.15 }, lineStyle: { width: 1.2 }, data: run[key].map((value, index) => [index * run.interval_ps, value * factor(run)]) }],
    }), true, 12);
  }
}
moveTo(0);
document.documentElement.dataset.ready = "yes";
