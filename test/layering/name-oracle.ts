import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { layeringName } from '../../scripts/parts/oracles.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { hashSalt } from '../../src/layering/api/build-name.ts';

/** The answer of the operator's libraries for three objects. */
export interface NameAnswer {
  readonly name?: string;
  readonly yaml?: readonly string[];
  readonly error?: string;
}

/** Names builds with Go's own code. */
export interface NameOracle {
  readonly ask: (objects: {
    readonly config: unknown;
    /** The MachineOSConfig as the text of a YAML file, in place of the object. */
    readonly configFile?: string;
    readonly pool: unknown;
    readonly images: unknown;
  }) => Promise<NameAnswer>;
  readonly stop: () => Promise<void>;
}

/** Starts the Go program that uses the libraries of the Machine Config Operator. */
export function startNameOracle(): NameOracle {
  const binary = join(partFolder(layeringName), 'bin', 'layering-name');
  const child = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const salt = Buffer.from(hashSalt).toString('hex');
  return {
    ask: async (objects) => {
      child.stdin.write(`${JSON.stringify({ salt, ...objects })}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`${binary} ended`);
      return JSON.parse(answer.value) as NameAnswer;
    },
    stop: () => {
      child.stdin.end();
      return ended;
    },
  };
}
