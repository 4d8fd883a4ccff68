/** The connections of an embedding program, whose own server reads their requests and closes them. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { stopParsing } from "./closing.ts";
import { socketOf } from "./node-exchange.ts";

export class ProgramConnections {
  /** The last response of each connection, until it has ended, so that an idle connection holds no memory for it. */
  readonly #lastResponses = new WeakMap<Socket, ServerResponse>();

  /**
   * Returns false if the request is not to be handled: a middleware has responded already, or the connection is about
   * to close (RFC 9112, 9.6). @param isLast whether the connection closes after its response
   */
  take(incoming: IncomingMessage, outgoing: ServerResponse, isLast: boolean): boolean {
    const socket = socketOf(incoming);
    const last = socket && this.#lastResponses.get(socket);
    if (outgoing.headersSent || (last !== undefined && last !== outgoing && !last.shouldKeepAlive)) {
      return false;
    }
    if (socket !== undefined && last !== outgoing) {
      this.#lastResponses.set(socket, outgoing);
      outgoing.once("close", () => this.#forget(socket, outgoing));
    }
    if (isLast) {
      outgoing.shouldKeepAlive = false;
      stopParsing(socket);
    }
    return true;
  }

  #forget(socket: Socket, outgoing: ServerResponse): void {
    if (outgoing.shouldKeepAlive && this.#lastResponses.get(socket) === outgoing) {
      this.#lastResponses.delete(socket);
    }
  }
}
