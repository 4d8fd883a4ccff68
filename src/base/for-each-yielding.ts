import { setImmediate as eventLoopTurn } from "node:timers/promises";

/** So many items take a few milliseconds at most. */
const itemsPerTurn = 500;

/** Calls `act` with each item, and lets the event loop run in between. */
export async function forEachYielding<Item>(items: readonly Item[], act: (item: Item) => void): Promise<void> {
  for (let done = 0; done < items.length; done += itemsPerTurn) {
    items.slice(done, done + itemsPerTurn).forEach((item) => act(item));
    await eventLoopTurn();
  }
}
