// A row a rank: what it computed and what it waited for above, what it was sending below.

const bars = [
  { kind: "compute", name: "computing", colour: () => "#009E73", top: -0.42, height: 0.48 },
  { kind: "wait", name: "waiting", colour: () => colour("idle"), top: -0.42, height: 0.48 },
  { kind: "send", name: "sending", colour: () => "#0072B2", top: 0.1, height: 0.3 },
];

function showGantt(place) {
  const ranks = () => data.gantt.ranks.filter((name) => name.toLowerCase().includes(filterText("gantt-filter")));
  const rowHeight = data.gantt.ranks.length <= 24 ? 22 : data.gantt.ranks.length <= 64 ? 14 : 9;
  const option = () => {
    const shown = ranks(), row = new Map(shown.map((name, index) => [name, index]));
    const rowOf = data.gantt.ranks.map((name) => row.get(name));
    return {
      color: bars.map((bar) => bar.colour()),
      legend: legend(),
      grid: { left: narrow() ? 60 : 96, right: 20, top: 30, bottom: 26 },
      xAxis: timeAxis(),
      yAxis: { type: "category", inverse: true, data: shown, axisLabel: { color: colour("quiet"), hideOverlap: true, fontSize: Math.min(11, rowHeight) }, axisTick: { show: false }, axisLine: { show: false } },
      tooltip: { ...tooltip(time), trigger: "item", formatter: ({ seriesName, value }) => `${echarts.format.encodeHTML(shown[value[0]])} ${seriesName}<br>${clock(value[1], duration)} to ${clock(value[2], duration)} (${time(value[2] - value[1])})` },
      series: bars.map((bar) => ({
        type: "custom", name: bar.name, encode: { x: [1, 2], y: 0 }, itemStyle: { color: bar.colour() },
        data: data.gantt[bar.kind].filter(([rank]) => rowOf[rank] !== undefined).map(([rank, from, to]) => [rowOf[rank], from, to]),
        renderItem: (params, api) => drawBar(params, api, bar),
      })),
    };
  };
  const height = () => Math.max(120, 60 + rowHeight * ranks().length);
  filterWith("gantt-filter", plot(place, "For each rank, when it computed, waited and sent", height, option));
  document.getElementById("gantt-note").textContent = "Click or drag in any chart to move the time cursor; arrow keys and space do the same.";
}

function drawBar(params, api, bar) {
  const [left, middle] = api.coord([api.value(1), api.value(0)]);
  const [right] = api.coord([api.value(2), api.value(0)]);
  const row = api.size([0, 1])[1];
  const area = { x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height };
  const rect = { x: left, y: middle + bar.top * row, width: Math.max(1, right - left - 0.5), height: bar.height * row };
  const shape = echarts.graphic.clipRectByRect(rect, area);
  return shape && { type: "rect", shape, style: { fill: api.visual("color") } };
}
