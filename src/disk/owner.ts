import { stat } from "node:fs/promises";

/**
 * To whom root gives what it makes in another user's folder, since that user's service must be able to use it;
 * undefined where nothing is given away. That user may put a link in the place of a file, so only a descriptor of a new
 * file, or a name that is not followed, may be given away.
 */
export async function ownerToBe(folder: string): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.geteuid?.() !== 0) {
    return undefined;
  }
  const { uid, gid } = await stat(folder);
  return uid === 0 ? undefined : { uid, gid };
}
