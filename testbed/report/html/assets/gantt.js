// A row a rank: what it computed and what it waited for above, what it was sending below. Of many ranks a screenful is
// drawn, those that stalled most first unless the reader asks for another order.

const bars = [
  { kind: "compute", name: "computing", colour: () => "#009E73", top: -0.42, height: 0.48 },
  { kind: "wait", name: "waiting", colour: () => colour("idle"), top: -0.42, height: 0.48 },
  { kind: "send", name: "sending", colour: () => "#0072B2", top: 0.1, height: 0.3 },
];
const rowsAtOnce = 32;

function showGantt(place) {
  const { ranks, stalls_ps: stalls } = data.gantt;
  const [order, from, box] = ["gantt-order", "gantt-from", "gantt-rows"].map((id) => document.getElementById(id));
  const drawn = bars.filter(({ kind }) => data.gantt[kind].length);
  const spans = drawn.map(({ kind }) => byRank(data.gantt[kind], ranks.length));
  const inOrder = ranks.map((_, index) => index), byStall = [...inOrder].sort((a, b) => stalls[b] - stalls[a] || a - b);
  if (ranks.length > rowsAtOnce && stalls.some((ps) => ps > 0)) order.value = "stall";

  const found = () => (order.value === "stall" ? byStall : inOrder).filter((index) => ranks[index].toLowerCase().includes(filterText("gantt-filter")));
  const visible = () => { const all = found(), first = Math.min(+from.value, Math.max(0, all.length - rowsAtOnce)); return { all, first, rows: all.slice(first, first + rowsAtOnce) }; };
  const rowHeight = ranks.length <= 24 ? 22 : 17;
  const option = () => {
    const { all, first, rows } = visible();
    box.hidden = all.length <= rowsAtOnce;
    from.max = Math.max(0, all.length - rowsAtOnce);
    const places = all.length ? `ranks ${first + 1} to ${first + rows.length} of ${all.length}` : "no such rank";
    from.setAttribute("aria-valuetext", places);
    document.getElementById("gantt-note").textContent = all.length === ranks.length && all.length <= rowsAtOnce ? "Click or drag in any chart to move the time cursor; arrow keys and space do the same." : `${places[0].toUpperCase()}${places.slice(1)}.`;
    return {
      color: drawn.map((bar) => bar.colour()),
      legend: legend(),
      grid: { left: leftEdge(), right: 20, top: 30, bottom: 26 },
      xAxis: timeAxis(),
      yAxis: { type: "category", inverse: true, data: rows.map((index) => ranks[index]), axisLabel: { color: colour("quiet"), interval: 0, fontSize: 11 }, axisTick: { show: false }, axisLine: { show: false } },
      tooltip: { ...tooltip(time), trigger: "item", formatter: ({ seriesName, value }) => barText(ranks[rows[value[0]]], seriesName, value, stalls[rows[value[0]]]) },
      series: drawn.map((bar, kind) => ({
        type: "custom", name: bar.name, encode: { x: [1, 2], y: 0 }, itemStyle: { color: bar.colour() },
        data: rows.flatMap((index, row) => spans[kind][index].map(([start, end]) => [row, start, end])),
        renderItem: (params, api) => drawBar(params, api, bar),
      })),
    };
  };
  const height = () => Math.max(120, 60 + rowHeight * visible().rows.length);
  const redraw = plot(place, "For each rank, when it computed, waited and sent", height, option);
  filterWith("gantt-filter", () => { from.value = 0; redraw(); });
  order.addEventListener("change", () => { from.value = 0; redraw(); });
  from.addEventListener("input", redraw);
}

function byRank(rows, ranks) {
  const found = Array.from({ length: ranks }, () => []);
  for (const [rank, start, end] of rows) found[rank].push([start, end]);
  return found;
}

function barText(rank, what, [, start, end], stall) {
  const lost = stall ? `<br>stalled ${time(stall)} in all` : "";
  return `${echarts.format.encodeHTML(rank)} ${what}<br>${clock(start, duration)} to ${clock(end, duration)} (${time(end - start)})${lost}`;
}
