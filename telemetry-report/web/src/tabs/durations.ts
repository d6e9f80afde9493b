/** The tab of durations: each type of spans with its count, times and percentiles. */

import type { PairedSpans } from "../document";
import { type Column, element, replace, table } from "../dom";
import { count, cut, exactTime, time } from "../format";
import type { Tab } from "../view";

type Row = PairedSpans["spans"][number];

const figure = (title: string, of: (row: Row) => number | string | null): Column<Row> => ({
  title,
  text: (row) => time(of(row)),
  full: (row) => exactTime(of(row)),
  value: (row) => Number(of(row)),
});

export const durations: Tab = {
  id: "durations",
  title: "Durations",
  empty: (report) => (report.paired.spans.length > 0 ? null : "No event of this run begins a span."),
  make(root, view) {
    const columns: Column<Row>[] = [
      { title: "span", text: (row) => cut(row.span) },
      {
        title: "count",
        text: (row) => count(row.duration_ns.count),
        value: (row) => row.duration_ns.count,
      },
      figure("total", (row) => row.total_ns),
      figure("self", (row) => row.total_self_ns),
      figure("p50", (row) => row.duration_ns.p50),
      figure("p99", (row) => row.duration_ns.p99),
      figure("max", (row) => row.duration_ns.max),
    ];
    const update = () => {
      const rows = view.report.paired.spans.filter((row) => {
        const { spans } = view.report;
        const type = spans.find((span) => span.name === row.span && span.registry === row.registry);
        return !type || view.has(type.begin) || view.has(type.end);
      });
      replace(
        root,
        table(columns, rows, { name: "durations", sort: 2 }),
        view.isWhole ? null : element("p", { class: "note" }, "Figures of the whole run."),
      );
    };
    update();
    return { update };
  },
};
