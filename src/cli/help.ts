/**
 * What `--help` and `--version` print.
 */

import { version } from "../version.ts";
import { settingTable } from "./settings.ts";

const commandHelp: Readonly<Record<string, string>> = {
  check: `Usage: animal-store check [--data FOLDER]

Reads the log and the key file and says what a start would do, without doing it. Exit code 0: it would serve; 1: it
would refuse. Can be run beside a running server.
`,
  import: `Usage: animal-store import FILE [--data FOLDER]

Adds the animals of a JSON-lines file of NewPet bodies. The whole file is validated as the API does before the first
animal is added. No server may hold the folder meanwhile.
`,
};

/** @param command undefined for the program as a whole */
export function helpText(command: string | undefined): string {
  return (command === undefined ? undefined : commandHelp[command]) ?? programHelp();
}

export function versionText(): string {
  return `${version}\n`;
}

function programHelp(): string {
  const settings = Object.entries(settingTable).map(([flag, { variable, placeholder, fallback, meaning }]) => {
    const usage = `--${flag} ${placeholder}`.padEnd(25);
    return `  ${usage} ${meaning}${fallback === undefined ? "" : ` (${fallback})`}\n${" ".repeat(28)}or ${variable}\n`;
  });
  return `Usage: animal-store [FLAGS]           serves
       animal-store keys …            makes, lists, changes, rotates, unbans and revokes API keys
       animal-store import FILE       adds animals from a JSON-lines file
       animal-store check             says what a start would do, without doing it

${settings.join("")}
  --help, --version         also behind each command
`;
}
