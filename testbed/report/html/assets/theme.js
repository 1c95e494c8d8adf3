// Light and dark: as the system has it, until the button is pressed. Charts are drawn anew in the other's colours.

// Okabe and Ito's colours, which people with any colour vision can tell apart; the order is that of contrast.
const palette = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6BB1", "#B5A900", "#7F7F7F", "#1B9E9E", "#A65628", "#4D4D9F"];
// From nothing to all: lightness falls evenly, so that the order holds in print too (in the dark it rises).
const ramps = {
  light: ["#c9ced5", "#a6c8e0", "#6aa9cf", "#e6a700", "#d55e00", "#8b1a4a"],
  dark: ["#3a424c", "#2f5f85", "#3f8fc4", "#e6a700", "#f07f2e", "#ff6fae"],
};
const wishesDark = matchMedia("(prefers-color-scheme: dark)");
const redraws = [];
let theme = wishesDark.matches ? "dark" : "light";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const ramp = (part) => ramps[theme][part <= 0 ? 0 : Math.min(5, 1 + Math.floor(part * 5))];

function showTheme(chosen) {
  theme = chosen;
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  redraws.forEach((redraw) => redraw());
}

document.getElementById("theme").addEventListener("click", () => showTheme(theme === "dark" ? "light" : "dark"));
wishesDark.addEventListener("change", () => showTheme(wishesDark.matches ? "dark" : "light"));
let beforePrint = theme;
addEventListener("beforeprint", () => { beforePrint = theme; showTheme("light"); });
addEventListener("afterprint", () => showTheme(beforePrint));
showTheme(theme);
