// The keyboard: arrows move the cursor by an interval (with Shift by fifty), Home and End to the ends, space plays,
// plus, minus and 0 zoom. Wherever the focus is, but where a control has a use of its own for the key.

const moves = { ArrowLeft: -1, ArrowRight: 1 };
const keyActions = {
  ArrowLeft: (event) => stepBy(moves.ArrowLeft, event),
  ArrowRight: (event) => stepBy(moves.ArrowRight, event),
  Home: () => moveTo(0),
  End: () => moveTo(duration),
  " ": () => setPlaying(!cursor.playing),
  "+": () => zoomBy(0.5),
  "-": () => zoomBy(2),
  0: () => zoomTo(0, duration),
};

function stepBy(direction, event) {
  setPlaying(false);
  moveTo(cursor.time + direction * tick * (event.shiftKey ? 50 : 1));
}

// Whether the element that has the focus does something else with the key.
function hasOwnUse(place, key) {
  if (place === scrub) return false;
  if (place.closest("input, select, textarea")) return true;
  if (key === " ") return place.closest("button, summary, a") !== null;
  if (key in moves || key === "Home" || key === "End") {
    const region = place.closest(".scroll");
    return place.closest("[role=radiogroup]") !== null || (region === place && region.scrollWidth > region.clientWidth);
  }
  return false;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keyActions)) return;
  if (hasOwnUse(event.target, event.key)) return;
  keyActions[event.key](event);
  event.preventDefault();
});

// Of a group of radio buttons one is in the order of tabs, and arrows choose another, as the pattern of WAI-ARIA says.
function radioKeys(group, choose) {
  const buttons = [...group.querySelectorAll("[role=radio]")];
  const show = (chosen) => buttons.forEach((button, index) => {
    button.setAttribute("aria-checked", index === chosen);
    button.tabIndex = index === chosen ? 0 : -1;
  });
  const take = (index) => { show(index); choose(index); };
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => take(index));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      const to = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : step && (index + step + buttons.length) % buttons.length;
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      take(to);
      buttons[to].focus();
    });
  });
  show(0);
}
