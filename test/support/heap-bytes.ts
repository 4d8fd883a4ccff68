import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
// A context that is made after the flag was set has the function.
const collectGarbage = runInNewContext("gc") as () => void;

/** What this process holds in the heap, and in buffers beside it. */
export function heapBytes(): number {
  collectGarbage();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
