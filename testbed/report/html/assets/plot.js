// A chart over model time: its axis, the cursor's line, click and drag to move the cursor, and the shared zoom.

const timeAxis = (more = {}) => ({
  type: "value", min: 0, max: duration,
  axisLabel: { formatter: (ps) => time(ps, 3), color: colour("quiet"), hideOverlap: true },
  axisLine: { lineStyle: { color: colour("rule") } }, splitLine: { show: false },
  axisPointer: { label: { formatter: ({ value }) => clock(value, duration) } }, ...more,
});
const valueAxis = (write, more = {}) => ({
  type: "value", min: 0, splitNumber: 4,
  axisLabel: { formatter: (value) => write(value, 3), color: colour("quiet") },
  splitLine: { lineStyle: { color: colour("rule") } }, ...more,
});
// An axis in bytes has its marks at powers of two.
function sizeAxis(most, more = {}) {
  const interval = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, most) / 5)));
  return valueAxis(size, { interval, max: Math.ceil(most * 1.02 / interval) * interval, ...more });
}
const tooltip = (write) => ({
  trigger: "axis", confine: true, backgroundColor: colour("paper"), borderColor: colour("rule"),
  textStyle: { color: colour("ink"), fontSize: 12 }, valueFormatter: (value) => value === null || value === undefined ? "–" : write(Array.isArray(value) ? value[1] : value),
});
const legend = () => ({ type: "scroll", top: 0, left: 0, textStyle: { color: colour("ink") }, pageTextStyle: { color: colour("ink") }, icon: "roundRect", itemWidth: 14, itemHeight: 4 });
const narrow = () => innerWidth < 600;
const leftEdge = () => narrow() ? 72 : 148; // of all charts over time, so that one instant is one vertical line
const steps = (track, interval) => track.values.flatMap((value, index) => [[(track.first + index) * interval, value]]).concat([[(track.first + track.values.length) * interval, 0]]);

// Draw what `option()` returns into `place`; with `timed`, under the cursor, whose line and clicks begin `top`
// pixels down, below the legend. Returns a function that draws it anew; its `chart` is the library's.
function plot(place, label, height, option, timed = true, top = 28) {
  place.classList.add("plot");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  const canvas = element("div", "", "canvas");
  const hair = element("div", "", "hair");
  place.replaceChildren(canvas, ...(timed ? [hair] : []));
  place.style.height = `${height()}px`;
  hair.style.top = `${top}px`;
  const chart = echarts.init(canvas);
  const shown = () => ({ type: "inside", xAxisIndex: "all", startValue: cursor.from, endValue: cursor.to, zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false, filterMode: "weakFilter", throttle: 30 });
  const placeHair = () => {
    const x = chart.convertToPixel({ xAxisIndex: 0 }, cursor.time);
    hair.hidden = cursor.time < cursor.from || cursor.time > cursor.to;
    hair.style.left = `${x}px`;
    hair.dataset.time = cursor.time;
  };
  const draw = () => {
    place.style.height = `${height()}px`;
    chart.resize();
    chart.setOption({ animation: false, textStyle: { fontFamily: "inherit" }, ...option(), ...(timed ? { dataZoom: [shown()] } : {}) }, { notMerge: true });
    if (timed) placeHair();
  };
  redraws.push(draw);
  new ResizeObserver(() => { chart.resize(); if (timed) placeHair(); }).observe(place);
  if (timed) {
    cursor.onMove.push(placeHair);
    cursor.onZoom.push(() => chart.dispatchAction({ type: "dataZoom", startValue: cursor.from, endValue: cursor.to }));
    chart.on("datazoom", (event) => {
      const [zoom] = event.batch ?? [event];
      if (zoom.start !== undefined) zoomTo(zoom.start / 100 * duration, zoom.end / 100 * duration);
    });
    const follow = (event) => moveTo(chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX));
    chart.getZr().on("mousedown", (event) => { if (event.offsetY > top) { setPlaying(false); follow(event); } });
    chart.getZr().on("mousemove", (event) => { if (event.event.buttons === 1 && event.offsetY > top) follow(event); });
  }
  draw();
  return Object.assign(draw, { chart });
}

// Draw anew when the filter box changes.
function filterWith(id, redraw) {
  document.getElementById(id).addEventListener("input", redraw);
}
const filterText = (id) => document.getElementById(id).value.trim().toLowerCase();

// A bar of a row of a chart over time: `bar` says where in the row.
function drawBar(params, api, bar) {
  const [left, middle] = api.coord([api.value(1), api.value(0)]);
  const [right] = api.coord([api.value(2), api.value(0)]);
  const row = api.size([0, 1])[1];
  const area = { x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height };
  const rect = { x: left, y: middle + bar.top * row, width: Math.max(1, right - left - 0.5), height: bar.height * row };
  const shape = echarts.graphic.clipRectByRect(rect, area);
  return shape && { type: "rect", shape, style: { fill: api.visual("color") } };
}

const mostSaid = 6;

// Say in `place` what `tracks()` (of the run's series) are at the cursor, the largest first: for whoever has no mouse.
// A value of theirs is of `joined` intervals.
function readout(place, tracks, write, joined = 1) {
  const show = () => {
    const interval = Math.floor(Math.min(data.intervals - 1, Math.floor(cursor.time / data.interval_ps)) / joined);
    const values = tracks().map(({ track, name }) => ({ name, value: track.values[interval - track.first] ?? 0 })).filter(({ value }) => value);
    values.sort((a, b) => b.value - a.value);
    place.textContent = `At the cursor: ${values.length ? values.slice(0, mostSaid).map(({ name, value }) => `${name} ${write(value)}`).join(", ") : "nothing"}${values.length > mostSaid ? `, and ${values.length - mostSaid} more` : ""}.`;
  };
  cursor.onMove.push(show);
  return show;
}
