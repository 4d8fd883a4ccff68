/** What a request takes that waits for its turn, and the content that comes meanwhile. */

import { IncomingMessage } from "node:http";

import { JoinedBytes } from "../base/joined-bytes.ts";

/** About: the objects of the request, and for each text of its fields a header and a pointer besides the characters. */
export function memoryBytes({ rawHeaders, url = "" }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + 32 + text.length, 2_500 + url.length);
}

/**
 * Joins content that comes before the turn: Node would keep a Buffer of 300 bytes for each chunk, and a packet may have
 * 10,000 of them. The returned function passes the content on, and calls `step`, which reads it.
 */
export function holdContent(incoming: IncomingMessage, step: () => void): () => void {
  const content = new JoinedBytes();
  let hasEnded = false;
  incoming.push = (piece: Uint8Array | null) => {
    if (piece === null) {
      hasEnded = true;
    } else {
      content.append(piece);
    }
    return false;
  };
  return () => {
    incoming.push = IncomingMessage.prototype.push;
    if (content.length > 0) {
      incoming.push(content.bytes);
    }
    if (hasEnded) {
      incoming.push(null);
    }
    step();
  };
}
