// Rates of queue pairs: what congestion control allows where there is one, else what they sent.

const mostPairs = 12;

function showRates(place) {
  const allowed = data.tracks.filter((track) => track.what === "rate_bps");
  const tracks = allowed.length ? allowed : data.tracks.filter((track) => track.what === "sent_packets");
  if (!tracks.length) return lacking(place, "The run kept no time series of queue pairs (measure: {series: true} records them).");
  const factor = allowed.length ? 1 : data.mtu * 8e12 / data.interval_ps;
  const ordered = tracks.map((track) => ({ track, sum: track.values.reduce((sum, value) => sum + value, 0) })).sort((a, b) => b.sum - a.sum).map(({ track }) => track);
  const option = () => {
    const found = ordered.filter((track) => track.object.toLowerCase().includes(filterText("rates-filter")));
    const shown = found.slice(0, mostPairs);
    document.getElementById("rates-note").textContent = `${shown.length} of ${tracks.length} queue pairs; ${allowed.length ? "the rate that congestion control allows" : "packets sent in each interval, at the MTU"}.`;
    return {
      color: palette, legend: legend(), tooltip: tooltip(rate),
      grid: { left: narrow() ? 60 : 96, right: 20, top: 34, bottom: 26 },
      xAxis: timeAxis(), yAxis: valueAxis(rate),
      series: shown.map((track) => ({ type: "line", name: track.object, step: "end", symbol: "none", lineStyle: { width: 1.3 }, emphasis: { focus: "series" }, data: steps(track, data.interval_ps).map(([ps, value]) => [ps, value * factor]) })),
    };
  };
  filterWith("rates-filter", plot(place, "Rates of queue pairs over time", () => 260, option));
}
