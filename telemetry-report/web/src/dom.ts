/** Elements and tables. Text goes to the page as text alone, so that no name is ever markup. */

import { count } from "./format";

/** A text of at most this many letters stays on one line, however narrow the window is. */
const MOST_BRIEF = 24;

export type Child = Node | string | null | undefined | false;

/** Attributes, and handlers whose names begin with `on`. */
export type Properties = Record<
  string,
  string | number | boolean | null | undefined | ((event: any) => void)
>;

/** Makes an element: `element("p", { class: "note", onclick: f }, "text", child)`. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child): child is Node | string => !!child || child === ""));
  return made;
}

/** Makes a button that does something. `data` is its name for tests. */
export function button(
  text: string,
  data: string,
  onclick: (event: MouseEvent) => void,
  title = "",
): HTMLButtonElement {
  return element("button", { type: "button", "data-test": data, title: title || null, onclick }, text);
}

/** Puts `children` in the place of all that `parent` has. */
export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => !!child));
}

export interface Column<Row> {
  /** Empty: a column that explains itself, and by which nothing is sorted. */
  title: string;
  /** Shown on hover over the head. */
  doc?: string;
  text(row: Row): string;
  /** Shown on hover over the cell: the exact value. */
  full?(row: Row): string;
  /** What rows are sorted by, and numbers stand at the right. Without it the text is. */
  value?(row: Row): number | string | null | undefined;
  /** In place of the text. */
  cell?(row: Row): Node;
  /** Makes the cell a button. */
  onclick?(row: Row): void;
}

export interface TableOptions<Row> {
  caption?: string;
  /** Name for tests. */
  name?: string;
  /** The column by which rows are sorted at first; `-1` stands for the given order. */
  sort?: number;
  isAscending?: boolean;
  /** Rows shown at first; a button shows as many more. */
  most?: number;
  /** What stands in place of a table without rows. */
  empty?: string;
  footnote?: string;
  rowTitle?(row: Row): string;
}

/** Makes a table whose heads sort it. */
export function table<Row>(
  columns: Column<Row>[],
  rows: readonly Row[],
  options: TableOptions<Row> = {},
): HTMLElement {
  const root = element("div", { class: "table", "data-test": options.name ?? null });
  let sorted = [...rows];
  let by = options.sort ?? -1;
  let isUp = options.isAscending ?? false;
  let shown = options.most ?? 50;

  const key = (column: Column<Row>, row: Row) => {
    const value = column.value ? column.value(row) : column.text(row);
    return value === null || value === undefined ? Number.NEGATIVE_INFINITY : value;
  };
  const sort = () => {
    if (by < 0) return;
    const keys = new Map(sorted.map((row) => [row, key(columns[by], row)]));
    sorted.sort((a, b) => {
      const [x, y] = [keys.get(a)!, keys.get(b)!];
      return (x < y ? -1 : x > y ? 1 : 0) * (isUp ? 1 : -1);
    });
  };
  const head = (column: Column<Row>, at: number) =>
    element(
      column.title ? "th" : "td",
      {
        scope: column.title ? "col" : null,
        class: column.value ? "number" : null,
        "aria-sort": by !== at ? null : isUp ? "ascending" : "descending",
      },
      !!column.title &&
        element(
          "button",
          {
            type: "button",
            title: column.doc,
            onclick: () => {
              isUp = by === at ? !isUp : !column.value;
              by = at;
              sort();
              draw(at);
            },
          },
          column.title,
        ),
    );
  const cell = (column: Column<Row>, row: Row) => {
    const text = column.text(row);
    const go = column.onclick;
    const content = column.cell
      ? column.cell(row)
      : go
        ? element("button", { type: "button", class: "link", onclick: () => go(row) }, text)
        : text;
    const full = column.full?.(row);
    const isBrief = text.length <= MOST_BRIEF;
    return element(
      "td",
      { class: column.value ? "number" : isBrief ? "brief" : null, title: full === text ? null : full },
      content,
    );
  };
  const draw = (focus = -1) => {
    if (sorted.length === 0) {
      replace(root, element("p", { class: "note" }, options.empty ?? "Nothing in this range."));
      return;
    }
    const body = element("tbody");
    for (const row of sorted.slice(0, shown)) {
      const title = options.rowTitle?.(row);
      body.append(element("tr", { title }, ...columns.map((column) => cell(column, row))));
    }
    const heads = columns.map(head);
    const left = sorted.length - shown;
    replace(
      root,
      element(
        "table",
        // Without a caption, its name for tests names it for readers of the screen, too.
        { "aria-label": options.caption ? null : (options.name?.replace(/-/g, " ") ?? null) },
        options.caption ? element("caption", {}, options.caption) : null,
        element("thead", {}, element("tr", {}, ...heads)),
        body,
      ),
      left > 0 &&
        button(`${count(left)} more rows`, "more-rows", () => {
          shown *= 4;
          draw();
        }),
      options.footnote ? element("p", { class: "note" }, options.footnote) : null,
    );
    if (focus >= 0) heads[focus].querySelector("button")?.focus();
  };
  sort();
  draw();
  return root;
}
