// Rates of queue pairs: what congestion control allows where there is one, else what they sent.

const mostPairs = 12;
const pointsOfSent = 150;

function showRates(place) {
  const allowed = data.tracks.filter((track) => track.what === "rate_bps");
  const tracks = allowed.length ? allowed : data.tracks.filter((track) => track.what === "sent_packets");
  if (!tracks.length) return lacking(place, "The run kept no time series of queue pairs (measure: {series: true} records them).");
  const factor = allowed.length ? 1 : data.mtu * 8e12 / data.interval_ps;
  const joined = allowed.length ? 1 : Math.ceil(data.intervals / pointsOfSent);
  const what = allowed.length ? "the rate that congestion control allows" : `what each sent, at the MTU, a mean of ${time(joined * data.interval_ps)}`;
  const ordered = tracks.map((track) => ({ track, sum: track.values.reduce((sum, value) => sum + value, 0) })).sort((a, b) => b.sum - a.sum).map(({ track }) => means(track, joined));
  const chosen = () => ordered.filter((track) => track.object.toLowerCase().includes(filterText("rates-filter"))).slice(0, mostPairs);
  const option = () => {
    const shown = chosen();
    document.getElementById("rates-note").textContent = `${shown.length} of ${tracks.length} queue pairs; ${what}.`;
    return {
      color: palette, legend: legend(), tooltip: tooltip((value) => rate(value, 3)),
      grid: { left: leftEdge(), right: 20, top: 34, bottom: 26 },
      xAxis: timeAxis(), yAxis: valueAxis(rate),
      series: shown.map((track) => ({ type: "line", name: track.object, step: "end", symbol: "none", lineStyle: { width: 1.3 }, emphasis: { focus: "series" }, data: steps(track, data.interval_ps * joined).map(([ps, value]) => [Math.min(ps, duration), value * factor]) })),
    };
  };
  const draw = plot(place, "Rates of queue pairs over time", () => 260, option);
  const say = readout(document.getElementById("rates-now"), () => chosen().map((track) => ({ track, name: track.object })), (value) => rate(value * factor, 3), joined);
  filterWith("rates-filter", () => { draw(); say(); });
}

// A track whose values are the means of so many intervals each: a queue pair sends by turns, which would hide its rate.
function means(track, joined) {
  if (joined === 1) return track;
  const first = Math.floor(track.first / joined), last = Math.floor((track.first + track.values.length - 1) / joined);
  const values = Array(last - first + 1).fill(0);
  track.values.forEach((value, index) => { values[Math.floor((track.first + index) / joined) - first] += value / joined; });
  return { ...track, first, values };
}
