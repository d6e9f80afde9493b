/** The tab of censuses: how much there was of each class, over time. */

import { color } from "../color";
import type { Census, CensusClass } from "../document";
import { element, replace, table } from "../dom";
import { brief, commas, count, cut, exactAt, moment, percent, quantity } from "../format";
import { isWithin, type Tab, type View } from "../view";
import { areas } from "./areas";
import { isBinary } from "./axes";
import { lossNote, note, selection } from "./common";

/** Classes with a color of their own. */
const COLORED = 8;

/** Returns what is counted, with registry and session where there are several. */
function nameOf(view: View, { census, registry, session }: Census): string {
  const { sessions } = view.report;
  const at = sessions.findIndex((one) => one.id === session);
  const name = `${cut(census, 60)} of ${cut(registry, 60)}`;
  return sessions.length > 1 ? `${name} · ${cut(sessions[at]?.program || session, 30)} ${sessions[at]?.pid ?? ""}` : name;
}

/** Returns the amounts of the classes with most, and of all others: by class, then by census. */
export function partsOf(of: Census): { name: string; color: string; values: number[] }[] {
  const shown = of.classes.slice(0, COLORED).map((one, i) => ({
    name: brief(one.class, 48),
    // The gray of the palette is for others.
    color: color(i < 6 ? i : i + 1),
    values: of.amounts[i],
  }));
  const rest = [...of.amounts.slice(COLORED), of.others_amounts];
  const values = of.at.map((_, i) => rest.reduce((sum, one) => sum + one[i], 0));
  return values.some((value) => value > 0) ? [...shown, { name: "others", color: color(-1), values }] : shown;
}

function classTable(view: View, of: Census): HTMLElement {
  const start = view.report.sessions.find((one) => one.id === of.session)?.start ?? 0;
  const read = (value: CensusClass["most"]) => quantity(value, of.unit);
  const exact = (value: CensusClass["most"]) => (value === null ? "" : `${commas(value)} ${of.unit}`.trim());
  const at = (row: CensusClass) => (row.most_at_ns === null ? null : Number(row.most_at_ns) + start);
  const all = Number(of.total.mean);
  return table<CensusClass>(
    [
      { title: "class", text: (row) => cut(row.class, 100) },
      {
        title: "mean",
        doc: "Over all censuses. A class that is not in one has 0 there.",
        text: (row) => read(row.mean),
        full: (row) => exact(row.mean),
        value: (row) => Number(row.mean),
      },
      { title: "share", text: (row) => percent(Number(row.mean) / all), value: (row) => Number(row.mean) },
      {
        title: "most",
        text: (row) => read(row.most),
        full: (row) => exact(row.most),
        value: (row) => Number(row.most ?? -1),
      },
      {
        title: "at",
        doc: "The time of the census with most.",
        text: (row) => (at(row) === null ? "–" : moment(at(row)!)),
        full: (row) => (at(row) === null ? "" : exactAt(at(row)!)),
        value: (row) => at(row),
      },
      {
        title: "last",
        doc: "In the last census.",
        text: (row) => read(row.last),
        full: (row) => exact(row.last),
        value: (row) => Number(row.last),
      },
    ],
    [...of.classes, ...(of.others ? [of.others] : []), of.total],
    { name: "classes", most: 30, caption: `Classes of all ${count(of.count)} censuses` },
  );
}

export const census: Tab = {
  id: "census",
  title: "Census",
  empty: () => null,
  make(root, view) {
    const all = view.report.censuses;
    let chosen = 0;
    const now = () => all[chosen];
    const picture = areas(
      "census",
      "Amounts by class",
      view,
      () => ({
        at: now().at,
        series: partsOf(now()),
        read: (value) => quantity(value, now().unit),
        isBinary: isBinary(now().unit),
        exact: (value) => `${commas(value)} ${now().unit}`.trim(),
        losses: view.losses(),
        marks: view.report.marks,
      }),
      280,
    );
    const summary = element("p", { "data-test": "census-summary" });
    const classes = element("div");
    const feet = element("div");
    const update = () => {
      const of = now();
      const losses = view.losses();
      const read = (value: CensusClass["most"]) => quantity(value, of.unit);
      const inRange = of.at.filter((at) => isWithin(view, at)).length;
      const number = `${count(of.count)} ${Number(of.count) === 1 ? "census" : "censuses"}`;
      summary.textContent = `${nameOf(view, of)}: ${number}, ${read(of.total.mean)} on average, at most ${read(of.total.most)}.`;
      picture.update(`${count(inRange)} in this range, at most ${read(of.total.most)}`);
      replace(classes, classTable(view, of));
      const { kinds, events, threads, sessions } = view.filter;
      replace(
        feet,
        note(
          of.every > 1 && `The picture has 1 of ${count(of.every)} censuses. The table is of all of them.`,
          inRange === 0 && "This range has no census.",
          !!(kinds || events || threads || sessions) &&
            "Censuses are those of the whole program: the filter does not apply.",
          losses.length > 0 && "Lost events of a census make its amounts too low.",
          lossNote(losses, false),
        ),
      );
    };
    root.append(
      ...(all.length > 1
        ? [
            selection(
              "Of",
              "census-of",
              all.map((of, i) => [i, nameOf(view, of)]),
              chosen,
              (to) => {
                chosen = to;
                update();
              },
            ),
          ]
        : []),
      summary,
      picture.node,
      classes,
      feet,
    );
    update();
    return { update };
  },
};
