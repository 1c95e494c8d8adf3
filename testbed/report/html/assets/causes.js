// Time lost, by rank and cause; when it was lost, under the cursor; and the story of what cost most.

function causesOption(rows, kinds, lengths) {
  return {
    color: palette,
    legend: legend(),
    tooltip: { ...tooltip(time), axisPointer: { type: "shadow" } },
    grid: { left: 12, right: 24, top: 34, bottom: 8, containLabel: true },
    xAxis: valueAxis(time),
    yAxis: { type: "category", inverse: true, data: rows, axisLabel: { color: colour("quiet"), hideOverlap: true }, axisTick: { show: false }, axisLine: { lineStyle: { color: colour("rule") } } },
    series: kinds.map((kind) => ({ type: "bar", stack: "all", name: kind.replaceAll("_", " "), barMaxWidth: 18, data: rows.map((row) => lengths(row, kind)) })),
  };
}

const chaptersAtFirst = 4;
const rowsOfCauses = 24;

function showCauses(place, when, story) {
  const { by_rank: byRank, kinds, chapters, missing } = data.causes;
  if (missing) return lacking(place, missing);
  const all = Object.keys(byRank), lost = (row) => Object.values(byRank[row]).reduce((sum, [ps]) => sum + ps, 0);
  const rows = all.length > rowsOfCauses ? [...all].sort((a, b) => lost(b) - lost(a)).slice(0, rowsOfCauses) : all;
  if (all.length > rows.length) place.before(element("p", `The ${rows.length} of ${all.length} that lost most.`, "quiet"));
  if (!rows.length) return lacking(place, "No rank waited, and no flow took, longer than it would have alone.");
  const names = Object.keys(kinds);
  const draw = plot(place, "Time lost by rank and cause", () => 60 + 22 * rows.length, () => causesOption(rows, names, (rank, kind) => byRank[rank][kind]?.[0] ?? 0), false);
  draw.chart.on("click", ({ name, seriesIndex }) => { setPlaying(false); moveTo(byRank[name][names[seriesIndex]][1]); });
  showWhen(when, chapters, names);
  showStory(story, chapters);
}

// A row a chapter, with its number in the story below: the stretches in which anybody lost time to it.
function showWhen(place, chapters, kinds) {
  if (!chapters.length) return;
  document.getElementById("h-when").hidden = false;
  const bar = { top: -0.32, height: 0.64 };
  const option = () => ({
    grid: { left: leftEdge(), right: 20, top: 8, bottom: 26 },
    xAxis: timeAxis(),
    yAxis: { type: "category", inverse: true, data: chapters.map(({ title }, index) => `${index + 1}. ${title}`), axisLabel: { color: colour("quiet"), width: leftEdge() - 12, overflow: "truncate", fontSize: 11 }, axisTick: { show: false }, axisLine: { show: false } },
    tooltip: { ...tooltip(time), trigger: "item", formatter: ({ value: [row, start, end] }) => `${echarts.format.encodeHTML(chapters[row].title)}<br>${clock(start, duration)} to ${clock(end, duration)}` },
    series: [{
      type: "custom", encode: { x: [1, 2], y: 0 },
      data: chapters.flatMap(({ kind, spans }, row) => spans.map(([start, end]) => ({ value: [row, start, end], itemStyle: { color: palette[Math.max(0, kinds.indexOf(kind)) % palette.length] } }))),
      renderItem: (params, api) => drawBar(params, api, bar),
    }],
  });
  plot(place, "When time was lost, by what it was lost to", () => 44 + 24 * chapters.length, option, true, 8);
}

function showStory(story, chapters) {
  const items = chapters.map((chapter) => {
    const item = element("li"), go = element("button", clock(chapter.first_ps, duration));
    go.type = "button";
    go.setAttribute("aria-label", `Move the cursor to ${clock(chapter.first_ps, duration)}`);
    go.addEventListener("click", () => moveTo(chapter.first_ps));
    item.append(element("strong", chapter.title), ` ${time(chapter.ranks_ps + chapter.flows_ps)}, ${share(chapter.share)} of all time lost `, go, element("p", spaced(chapter.sentences.join(" "))));
    cursor.onMove.push((ps) => item.classList.toggle("now", chapter.spans.some(([start, end]) => start <= ps && ps <= end)));
    return item;
  });
  story.replaceChildren(...items.slice(0, chaptersAtFirst));
  if (items.length > chaptersAtFirst) {
    const more = element("details"), list = element("ol");
    list.start = chaptersAtFirst + 1;
    list.append(...items.slice(chaptersAtFirst));
    more.append(element("summary", `${items.length - chaptersAtFirst} that cost less`), list);
    story.after(more);
  }
  if (data.causes.more_chapters) story.parentElement.append(element("p", `${data.causes.more_chapters} more cost less still: rocelab explain tells them.`, "quiet"));
}
