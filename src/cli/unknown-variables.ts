/**
 * Variables that look like settings and are none: a misspelt one would otherwise be ignored without a word.
 */

/** Returns a warning for each, which names the nearest of `known`. */
export function unknownVariables(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  const unknown = Object.keys(environment).filter((name) => name.startsWith("ANIMAL_STORE_") && !known.includes(name));
  return unknown.map((name) => {
    const [nearest] = known.toSorted((one, other) => editDistance(name, one) - editDistance(name, other));
    return `warning: the variable ${name} is no setting; did you mean ${nearest}?`;
  });
}

/** Levenshtein's: how many characters have to be added, removed or replaced. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = row[column - 1]! + (to[column - 1] === character ? 0 : 1); // Each row has all columns.
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
