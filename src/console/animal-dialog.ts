/**
 * The dialog that adds an animal, or corrects one. Each new animal carries an `Idempotency-Key` of its own, so that
 * sending the same request again, after a connection broke or the outcome stayed unknown, never adds it twice.
 */

import { onPress, onSubmit, sendButton } from "./buttons.ts";
import type { CatalogueView } from "./catalogue-view.ts";
import { byId, type Field, literal, notify, readCategory } from "./dom.ts";
import { type Pet, toJson } from "./exact-json.ts";
import { sentence } from "./pet-list.ts";
import { type CallRequest, explain, petOf, type Session, writeRequest } from "./session.ts";

/** @returns opens the dialog to correct an animal, as it is by then */
export function startAnimalDialog(session: Session, catalogue: CatalogueView): (pet: Pet) => unknown {
  const dialog = byId<HTMLDialogElement>("animal");
  const form = byId<HTMLFormElement>("animal-form");
  const [name, category] = [byId<Field>("name"), byId<Field>("category")];
  const { list } = catalogue;
  /** The animal as the dialog has shown it; undefined for a new one. */
  let corrected: Pet | undefined;
  /** The request that failed, or whose response was lost: with the same content it goes out once more. */
  let failed: CallRequest | undefined;

  function open(pet?: Pet): void {
    if (pet !== undefined || corrected !== undefined) { // Else what was typed is still there.
      [name.value, category.value] = [pet?.name ?? "", pet?.categoryId ?? ""];
    }
    corrected = pet;
    byId("animal-title").textContent = pet === undefined ? "New animal" : `Correct animal ${pet.id}`;
    byId("save").textContent = pet === undefined ? "Add" : "Save";
    byId("statuses").hidden = pet !== undefined;
    category.ariaInvalid = "false";
    dialog.showModal();
    name.select();
  }

  async function add(content: string): Promise<void> {
    const again = failed?.content === content ? failed : undefined;
    const call = await session.request("/pets", again ?? writeRequest("POST", content));
    const added = petOf(call);
    failed = added === undefined ? call.request : undefined;
    if (added === undefined) {
      explain(call);
      return;
    }
    dialog.close();
    byId("new").focus();
    name.value = "";
    form.querySelector<Field>("[value=available]")?.click(); // So that nothing is sold by accident.
    const isShown = await catalogue.add(added, call.response?.headers.has("Idempotent-Replayed"));
    const see = isShown ? "" : sendButton(() => catalogue.find(added.id), "Show it");
    notify("good", ...sentence(added, "is added"), see);
    list.reveal();
  }

  async function correct(pet: Pet, change: Partial<Pet>): Promise<void> {
    const outcome = await list.change(pet, change);
    if (outcome?.who !== undefined && outcome.now.status !== "removed") {
      const { now, who } = outcome;
      corrected = now;
      const is = [literal(now.name), `, ${now.status}, category `, literal(now.categoryId)];
      notify("bad", `${who}: it is now `, ...is, ". Save again to put yours in its place.");
    } else if (outcome !== undefined) {
      dialog.close();
      list.focus(pet.id);
      list.tell(pet, change, outcome);
    }
  }

  onPress(byId("new"), () => open());
  onSubmit("animal-form", () => {
    const categoryId = readCategory(category);
    if (categoryId === undefined) {
      category.focus();
      return undefined;
    }
    const members = { name: name.value, categoryId };
    const { value: status } = form.elements.namedItem("status") as RadioNodeList;
    return corrected === undefined ? add(toJson({ ...members, status })) : correct(corrected, members);
  });
  return async (pet) => {
    const now = await list.ask(pet);
    if (now?.status === "removed") {
      notify("bad", ...sentence(pet, "is removed already"));
    } else if (now !== undefined) {
      open(now);
    }
  };
}
