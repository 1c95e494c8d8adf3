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
const steps = (track, interval) => track.values.flatMap((value, index) => [[(track.first + index) * interval, value]]).concat([[(track.first + track.values.length) * interval, 0]]);

// Draw what `option()` returns into `place`; with `timed`, under the cursor. Returns a function that draws it anew.
function plot(place, label, height, option, timed = true) {
  place.classList.add("plot");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  const canvas = element("div", "", "canvas");
  const hair = element("div", "", "hair");
  place.replaceChildren(canvas, ...(timed ? [hair] : []));
  place.style.height = `${height()}px`;
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
    chart.getZr().on("mousedown", (event) => { if (event.offsetY > 28) { setPlaying(false); follow(event); } });
    chart.getZr().on("mousemove", (event) => { if (event.event.buttons === 1 && event.offsetY > 28) follow(event); });
  }
  draw();
  return draw;
}

// Draw anew when the filter box changes.
function filterWith(id, redraw) {
  document.getElementById(id).addEventListener("input", redraw);
}
const filterText = (id) => document.getElementById(id).value.trim().toLowerCase();
