// The fabric at the cursor's instant: every link is two lines, one a direction, coloured by what its sending port does.

const svgNs = "http://www.w3.org/2000/svg";
const of = new Map(); // "what object" -> tracks
for (const track of data.tracks) {
  const key = `${track.what} ${track.object}`;
  of.set(key, [...(of.get(key) ?? []), track]);
}

function valueAt(what, thing, interval) {
  return (of.get(`${what} ${thing}`) ?? []).reduce((sum, track) => sum + (track.values[interval - track.first] ?? 0), 0);
}
const deepest = Math.max(1, ...data.tracks.filter((track) => track.what === "queue_bytes").map((track) => track.values.reduce((most, value) => Math.max(most, value), 0)));
const metrics = [
  { name: "Utilisation", what: "sent_bytes", part: (value, bps) => value * 8e12 / data.interval_ps / bps, write: (value, bps) => share(Math.min(1, value * 8e12 / data.interval_ps / bps)) },
  { name: "Queue", what: "queue_bytes", part: (value) => value / deepest, write: (value) => size(value, 3) },
  { name: "Paused", what: "paused_ps", part: (value) => value / data.interval_ps, write: (value) => share(Math.min(1, value / data.interval_ps)) },
];

function svg(tag, attributes, text) {
  const made = document.createElementNS(svgNs, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

function showFabric(place, buttons, busiest) {
  let metric = metrics[0];
  const width = 1192, rowHeight = 92, foot = data.fabric.nodes.filter(([, row]) => row === 0).length > 40 ? 42 : 24, height = data.fabric.rows * rowHeight - 32 + foot;
  const at = new Map(data.fabric.nodes.map(([name, row, x]) => [name, { x: x * width, y: height - foot - row * rowHeight, row }]));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The fabric; the sentence below says which ports do most" });
  const lines = data.fabric.links.flatMap(([a, b, ofA, ofB, bps]) => {
    const from = at.get(ofA), to = at.get(ofB);
    const long = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [dx, dy] = [-(to.y - from.y) / long * 2.2, (to.x - from.x) / long * 2.2];
    const bow = from.row === to.row ? -34 : 0; // links within a row pass above it
    return [[a, ofA, ofB, 1], [b, ofB, ofA, -1]].map(([port, source, target, side]) => {
      const path = `M${from.x + side * dx},${from.y + side * dy} Q${(from.x + to.x) / 2 + side * dx},${(from.y + to.y) / 2 + bow + side * dy} ${to.x + side * dx},${to.y + side * dy}`;
      const line = svg("path", { d: path, fill: "none", "data-port": port });
      const title = svg("title", {});
      line.append(title);
      return { port, bps, line, title, name: `${port} (${source} to ${target})`, shown: "" };
    });
  });
  picture.append(...lines.map(({ line }) => line));
  const inRow = (row) => data.fabric.nodes.filter(([, its]) => its === row).length;
  const wideIn = (row) => Math.max(5, Math.min(row ? 64 : 44, width / inRow(row) - 4));
  const rows = Array.from({ length: data.fabric.rows }, (_, row) => data.fabric.nodes.filter(([, its]) => its === row).map(([name]) => name));
  const named = rows.map((names, row) => names.every((name) => wideIn(row) >= 6.2 * name.length));
  for (const [name, { x, y, row }] of at) {
    const wide = wideIn(row);
    const node = svg("rect", { class: "node", x: x - wide / 2, y: y - 12, width: wide, height: 24, rx: 4 });
    node.append(svg("title", {}, name));
    picture.append(node);
    if (named[row]) picture.append(svg("text", { x, y: y + 4 }, name));
  }
  rows.forEach((names, row) => {
    const { y } = at.get(names[0]);
    if (!named[row]) picture.append(svg("text", { class: "row", x: 2, y: row ? y - 18 : height - 12 }, `${names[0]} to ${names[names.length - 1]}`));
  });
  place.replaceChildren(picture);

  function colourLinks() {
    const interval = Math.min(data.intervals - 1, Math.floor(cursor.time / data.interval_ps));
    const found = [];
    for (const each of lines) {
      const value = valueAt(metric.what, each.port, interval), part = metric.part(value, each.bps);
      const stroke = ramp(part);
      if (each.shown !== stroke) {
        each.line.setAttribute("stroke", stroke);
        each.line.setAttribute("stroke-width", part > 0 ? 1.6 + 1.6 * Math.min(1, part) : 1);
        each.shown = stroke;
      }
      each.title.textContent = `${each.name}: ${metric.write(value, each.bps)}`;
      if (value) found.push({ part, text: `${each.port} ${metric.write(value, each.bps)}` });
    }
    found.sort((a, b) => b.part - a.part);
    busiest.textContent = found.length ? `${metric.name}, most first: ${found.slice(0, 6).map(({ text }) => text).join(", ")}${found.length > 6 ? `, and ${found.length - 6} more` : ""}.` : `${metric.name}: none at this instant.`;
  }
  buttons.replaceChildren(...metrics.map((each) => {
    const button = element("button", each.name);
    button.type = "button";
    button.setAttribute("role", "radio");
    return button;
  }));
  radioKeys(buttons, (index) => { metric = metrics[index]; colourLinks(); });
  const scale = element("span", "", "quiet");
  buttons.append(scale);
  const showScale = () => {
    scale.replaceChildren("none ", ...ramps[theme].map((stop) => {
      const patch = element("span");
      patch.style.cssText = `display:inline-block;width:22px;height:8px;background:${stop}`;
      return patch;
    }), " most");
  };
  cursor.onMove.push(colourLinks);
  redraws.push(() => { showScale(); colourLinks(); });
  showScale();
  colourLinks();
}
