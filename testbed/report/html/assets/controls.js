// The controls of time at the foot of every page: play, the slider with what it stands at, and the zoom.

function control(id, text, label) {
  const button = element("button", text);
  button.type = "button";
  button.id = id;
  if (label) {
    button.setAttribute("aria-label", label);
    button.title = label;
  }
  return button;
}

const play = control("play", "Play");
play.setAttribute("aria-pressed", false);
const scrub = element("input");
Object.assign(scrub, { type: "range", id: "scrub", min: 0, value: 0, step: 1 });
scrub.setAttribute("aria-label", "Time cursor");
const zoomIn = control("zoom-in", "+", "Zoom in around the cursor");
const zoomOut = control("zoom-out", "\u2212", "Zoom out");
const zoomAll = control("zoom-all", "All", "Show the whole run");
const transport = element("div");
transport.id = "transport";
transport.setAttribute("role", "group");
transport.setAttribute("aria-label", "Time");
transport.append(play, scrub, element("output", "", "now"), zoomIn, zoomOut, zoomAll);
document.querySelector("main").after(transport);
