// Time lost, by rank and cause, and the story of what cost most.

function causesOption(rows, kinds, lengths) {
  return {
    color: palette,
    legend: legend(),
    tooltip: { ...tooltip(time), axisPointer: { type: "shadow" } },
    grid: { left: 12, right: 24, top: 34, bottom: 8, containLabel: true },
    xAxis: valueAxis(time),
    yAxis: { type: "category", inverse: true, data: rows, axisLabel: { color: colour("quiet"), hideOverlap: true }, axisTick: { show: false }, axisLine: { lineStyle: { color: colour("rule") } } },
    series: kinds.map((kind) => ({ type: "bar", stack: "all", name: kind.replaceAll("_", " "), barMaxWidth: 18, data: rows.map((row) => lengths(row, kind)) })),
  };
}

const chaptersAtFirst = 4;
const rowsOfCauses = 48;

function showCauses(place, story) {
  const { by_rank: byRank, kinds, chapters, recorded } = data.causes;
  if (!recorded) return lacking(place, "The run did not look for causes (measure: {causes: true} does, on the virtual clock).");
  const all = Object.keys(byRank), lost = (row) => Object.values(byRank[row]).reduce((sum, ps) => sum + ps, 0);
  const most = new Set([...all].sort((a, b) => lost(b) - lost(a)).slice(0, rowsOfCauses));
  const rows = all.filter((row) => most.has(row));
  if (all.length > rows.length) place.before(element("p", `The ${rows.length} of ${all.length} that lost most.`, "quiet"));
  if (!rows.length) return lacking(place, "No rank waited, and no flow took, longer than it would have alone.");
  const per = rows.length <= 24 ? 22 : rows.length <= 64 ? 14 : 9;
  plot(place, "Time lost by rank and cause", () => 60 + per * rows.length, () => causesOption(rows, Object.keys(kinds), (rank, kind) => byRank[rank][kind] ?? 0), false);
  const items = chapters.map((chapter) => {
    const item = element("li"), go = element("button", clock(chapter.first_ps, duration));
    go.type = "button";
    go.setAttribute("aria-label", `Move the cursor to ${clock(chapter.first_ps, duration)}`);
    go.addEventListener("click", () => moveTo(chapter.first_ps));
    item.append(element("strong", chapter.title), ` ${time(chapter.ranks_ps + chapter.flows_ps)}, ${share(chapter.share)} of all time lost `, go, element("p", spaced(chapter.sentences.join(" "))));
    return item;
  });
  story.replaceChildren(...items.slice(0, chaptersAtFirst));
  if (items.length > chaptersAtFirst) {
    const more = element("details"), list = element("ol");
    list.start = chaptersAtFirst + 1;
    list.append(...items.slice(chaptersAtFirst));
    more.append(element("summary", `${items.length - chaptersAtFirst} that cost less`), list);
    story.after(more);
  }
  if (data.causes.more_chapters) story.parentElement.append(element("p", `${data.causes.more_chapters} more cost less still: rocelab explain tells them.`, "quiet"));
}
