/** The table twin of a picture, for those who cannot see it or want its numbers. */

import { button, element, replace } from "./dom";

export interface Twin {
  /** The button; belongs into the head of the picture. */
  button: HTMLButtonElement;
  /** Holds the picture or the table; belongs under the head. */
  node: HTMLElement;
  isOpen(): boolean;
  /** Makes the table again if it is shown. */
  update(): void;
}

/** Makes a button that shows the table in place of `picture`. `name` says what the picture shows. */
export function twin(name: string, picture: HTMLElement, makeTable: () => HTMLElement): Twin {
  const place = element("div", { class: "twin", hidden: true });
  const node = element("div", { class: "picture" }, picture, place);
  let isOpen = false;
  const label = () => (isOpen ? "as picture" : "as table");
  const toggle = button(
    label(),
    "twin",
    () => {
      isOpen = !isOpen;
      toggle.textContent = label();
      toggle.setAttribute("aria-pressed", String(isOpen));
      picture.hidden = isOpen;
      place.hidden = !isOpen;
      update();
    },
    `Shows ${name} as a table`,
  );
  toggle.classList.add("quiet");
  toggle.setAttribute("aria-pressed", "false");
  toggle.setAttribute("aria-label", `${name} as a table`);
  const update = () => {
    replace(place, isOpen && makeTable());
  };
  return { button: toggle, node, isOpen: () => isOpen, update };
}
