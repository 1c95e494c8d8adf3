// The one time cursor, and the part of the run that is shown. Everything that depends on them listens.

const duration = Math.max(1, data.duration_ps ?? Math.max(...data.runs.map((run) => run.duration_ps)));
const tick = data.interval_ps ?? Math.max(1, ...data.runs.map((run) => run.interval_ps));
const cursor = { time: 0, from: 0, to: duration, playing: 0, onMove: [], onZoom: [] };
const ticks = Math.max(1, Math.floor(duration / tick));
const playFor = 12000; // milliseconds for the whole run

function moveTo(ps) {
  cursor.time = Math.min(duration, Math.max(0, ps));
  scrub.value = Math.round(cursor.time / tick);
  const text = clock(cursor.time, duration);
  scrub.setAttribute("aria-valuetext", text);
  document.querySelectorAll("output.now").forEach((place) => { place.textContent = text; });
  cursor.onMove.forEach((listener) => listener(cursor.time));
}

function zoomTo(from, to) {
  const span = Math.min(duration, Math.max(2 * tick, to - from));
  cursor.from = Math.min(Math.max(0, from), duration - span);
  cursor.to = cursor.from + span;
  cursor.onZoom.forEach((listener) => listener());
  moveTo(cursor.time);
}

function zoomBy(factor) {
  const span = (cursor.to - cursor.from) * factor;
  zoomTo(cursor.time - span / 2, cursor.time + span / 2);
}

function setPlaying(on) {
  cancelAnimationFrame(cursor.playing);
  cursor.playing = 0;
  play.textContent = on ? "Pause" : "Play";
  play.setAttribute("aria-pressed", on);
  if (!on) return;
  if (cursor.time >= cursor.to) moveTo(cursor.from);
  let last = performance.now();
  const frame = (now) => {
    moveTo(cursor.time + (now - last) / playFor * (cursor.to - cursor.from));
    last = now;
    if (cursor.time >= cursor.to) setPlaying(false);
    else cursor.playing = requestAnimationFrame(frame);
  };
  cursor.playing = requestAnimationFrame(frame);
}

scrub.max = ticks;
scrub.addEventListener("input", () => { setPlaying(false); moveTo(scrub.value * tick); });
play.addEventListener("click", () => setPlaying(!cursor.playing));
zoomIn.addEventListener("click", () => zoomBy(0.5));
zoomOut.addEventListener("click", () => zoomBy(2));
zoomAll.addEventListener("click", () => zoomTo(0, duration));
