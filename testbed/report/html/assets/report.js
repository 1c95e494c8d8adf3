// The page of a run, from top to bottom.

const put = (id, text) => { document.getElementById(id).textContent = text; };
document.title = `${data.title} - rocelab`;
put("title", data.title);
put("about", data.about.join(" · "));
put("answer", spaced(data.answer));
put("message", data.message);
const broken = data.checks.filter((check) => !check.ok);
put("verdict", broken.length ? `${broken.length} of ${data.checks.length} checks do not hold` : `All ${data.checks.length} checks hold`);
document.getElementById("verdict").className = data.ok ? "good" : "bad";
document.getElementById("checks").append(...[...broken, ...data.checks.filter((check) => check.ok)].map((check) => element("li", `${check.ok ? "✓" : "✗"} ${check.name}: ${check.detail}`, check.ok ? "" : "bad")));

function showResults(place) {
  for (const { title, columns, rows, note } of data.results) {
    if (data.results.length > 1) place.append(element("h3", title));
    sortable(place, columns, rows, title);
    if (note) place.append(element("p", note, "quiet"));
  }
  const totals = { drops: "frames dropped", sent_again: "packets sent again", ecn_marked_packets: "packets marked", pauses: "pauses", local_ack_timeout_err: "timeouts" };
  place.append(element("p", Object.entries(totals).map(([key, name]) => `${name}: ${(data.totals[key] ?? 0).toLocaleString("en")}`).join(" · "), "quiet"));
}

showResults(document.getElementById("results"));
if (data.tracks.length) showFabric(document.getElementById("fabric"), document.getElementById("metrics"), document.getElementById("busiest"));
else lacking(document.getElementById("fabric"), "The run kept no time series (measure: {series: true} records them).");
if (data.gantt.ranks.length) showGantt(document.getElementById("gantt"));
else lacking(document.getElementById("gantt"), data.gantt.lacking);
showQueues(document.getElementById("queues"));
showRates(document.getElementById("rates"));
showCauses(document.getElementById("causes"), document.getElementById("when"), document.getElementById("story"));
showTables(document.getElementById("tables"), data.grids);
put("versions", Object.entries(data.versions).map(([name, version]) => `${name} ${version}`).join(" · "));

// The cursor begins where most waited in a queue: something is to be seen there.
const queueTracks = data.tracks.filter((track) => track.what === "queue_bytes");
const fullest = queueTracks.reduce((most, track) => !most || peak(track) > peak(most) ? track : most, null);
moveTo(fullest ? (fullest.first + fullest.values.indexOf(peak(fullest))) * data.interval_ps : 0);
document.documentElement.dataset.ready = "yes";
