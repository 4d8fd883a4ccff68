/** The severity of a message for the operator. A command that fails ends with an "error". */
export type Level = "info" | "warning" | "error";

/** Takes one message for the operator. Never throws. @param level default "info" */
export type Report = (message: string, level?: Level) => void;

/** The message as a line of text; only a warning is marked, since the text of an error says that it is one. */
export function withLevel(message: string, level: Level | undefined): string {
  return level === "warning" ? `warning: ${message}` : message;
}
