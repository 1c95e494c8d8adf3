// Numbers as people read them: times in the unit that suits, sizes in powers of two, rates in powers of ten.

const data = JSON.parse(document.getElementById("data").textContent);

function scaled(value, units, digits) {
  const [name, size] = units.find(([, size]) => Math.abs(value) >= size) ?? units[units.length - 1];
  return `${Number((value / size).toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 })} ${name}`;
}

const time = (ps, digits = 4) => ps === 0 ? "0 s" : scaled(ps, [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3], ["ps", 1]], digits);
const size = (bytes, digits = 4) => scaled(bytes, [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]], digits);
const rate = (bps, digits = 4) => scaled(bps, [["Tb/s", 1e12], ["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3], ["b/s", 1]], digits);
const share = (part) => part > 0 && part < 0.0005 ? "less than 0.1 %" : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;

// The point of time of the cursor, always in one unit, so that the digits do not jump.
function clock(ps, duration) {
  const [name, unit] = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]].find(([, each]) => duration >= each) ?? ["ps", 1];
  return `${(ps / unit).toFixed(3)} ${name}`;
}

const writers = { time: (ps) => time(ps, 6), size, rate, gbps: (value) => `${value.toPrecision(4)} Gb/s`, times: (value) => `${Number(value.toPrecision(4)).toLocaleString("en")}×` };

function written(value, unit) {
  if (value === null || value === undefined || value === "") return "–";
  if (unit) return writers[unit](value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

// Texts that come with the run write 10us and 4MiB.
const spaced = (text) => text.replace(/(\d)(ps|ns|us|ms|s|[KMG]iB|B)\b/g, (_, digit, unit) => `${digit}\u00a0${unit === "us" ? "µs" : unit}`).replace(/(\d)%/g, "$1\u00a0%");

// An element with a class and text; text is always text, never markup.
function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function lacking(place, text) {
  place.replaceChildren(element("p", text, "lacking"));
}
