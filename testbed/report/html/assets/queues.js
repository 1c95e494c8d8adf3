// Depths of the deepest queues against the thresholds, and below them what happened when.

const mostQueues = 12;
const eventColours = { mark: "#E69F00", drop: "#D55E00", pause: "#CC79A7", timeout: "#D55E00", nak: "#8C6BB1", retransmission: "#56B4E9", cnp_sent: "#009E73" };
const trackName = ({ object, priority }) => priority === null ? object : `${object} p${priority}`;
const peak = (track) => track.values.reduce((most, value) => Math.max(most, value), 0);

function showQueues(place) {
  const queues = data.tracks.filter((track) => track.what === "queue_bytes").map((track) => ({ track, name: trackName(track), peak: peak(track) }));
  queues.sort((a, b) => b.peak - a.peak);
  if (!queues.length) return lacking(place, "No queue ever held a byte, or the run kept no time series (measure: {series: true} records them).");
  const found = () => queues.filter(({ name }) => name.toLowerCase().includes(filterText("queues-filter")));
  const kinds = [...new Set(data.events.rows.map(([, kind]) => kind))].sort();
  const option = () => {
    const shown = found().slice(0, mostQueues), most = Math.max(1, ...shown.map((queue) => queue.peak));
    const priorities = new Set(shown.map(({ track }) => track.priority));
    // A threshold far above what any queue reached would flatten all curves: it is named, not drawn.
    const limits = data.limits.filter((limit) => priorities.has(limit.priority));
    const drawn = limits.filter((limit) => limit.bytes <= 3 * most), far = limits.filter((limit) => limit.bytes > 3 * most);
    const notes = [`${shown.length} of ${queues.length} queues, the deepest first.`, ...far.map((limit) => `${limit.label} of priority ${limit.priority} is at ${size(limit.bytes, 3)}.`)];
    if (data.events.left_out) notes.push(`${data.events.left_out.toLocaleString("en")} events are not drawn.`);
    document.getElementById("queues-note").textContent = notes.join(" ");
    const lane = 18 * kinds.length, left = leftEdge();
    const lines = drawn.length ? [{
      type: "line", name: "thresholds", data: [], silent: true,
      markLine: { silent: true, symbol: "none", lineStyle: { color: colour("quiet"), type: "dashed" }, label: { color: colour("quiet"), position: "insideEndTop", formatter: ({ name }) => name }, data: drawn.map((limit) => ({ name: `${limit.label} p${limit.priority} ${size(limit.bytes, 3)}`, yAxis: limit.bytes })) },
    }] : [];
    return {
      color: palette,
      legend: { ...legend(), data: shown.map(({ name }) => name) },
      tooltip: tooltip(size),
      grid: [{ left, right: 20, top: 34, height: 230 }, { left, right: 20, top: 292, height: Math.max(1, lane) }],
      xAxis: [timeAxis({ gridIndex: 0 }), timeAxis({ gridIndex: 1, show: false })],
      yAxis: [
        sizeAxis(Math.max(most, ...drawn.map((limit) => limit.bytes)), { gridIndex: 0 }),
        { type: "category", gridIndex: 1, data: kinds.map((kind) => kind.replace("_", " ")), inverse: true, axisLabel: { color: colour("quiet") }, axisLine: { show: false }, axisTick: { show: false } },
      ],
      series: [
        ...shown.map(({ track, name }) => ({ type: "line", name, step: "end", symbol: "none", lineStyle: { width: 1.3 }, emphasis: { focus: "series" }, data: steps(track, data.interval_ps) })),
        ...lines,
        ...kinds.map((kind, index) => ({
          type: "scatter", name: kind, xAxisIndex: 1, yAxisIndex: 1, symbol: "rect", symbolSize: [2, 12], itemStyle: { color: eventColours[kind] ?? colour("quiet"), opacity: 0.8 },
          tooltip: { trigger: "item", formatter: ({ value }) => echarts.format.encodeHTML(`${kind.replace("_", " ")} at ${value[2]}, ${clock(value[0], duration)} ${value[3] ?? ""}`) },
          data: data.events.rows.filter((row) => row[1] === kind).map(([ps, , where, detail]) => [ps, index, where, detail]),
        })),
      ],
    };
  };
  const height = () => 300 + 18 * kinds.length;
  const draw = plot(place, "Depths of the deepest queues over time, and events", height, option);
  const say = readout(document.getElementById("queues-now"), () => found().slice(0, mostQueues), (value) => size(value, 3));
  filterWith("queues-filter", () => { draw(); say(); });
}
