/**
 * What a command may touch of the process it runs in.
 */

export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

export const exitDone = 0;
export const exitNotDone = 1;
export const exitUsage = 2;
