import { Buffer } from 'node:buffer';
import { layeringName } from '../../scripts/parts/oracles.ts';
import { hashSalt } from '../../src/layering/api/build-name.ts';
import { startOracle } from '../ignition/oracles.ts';

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
  const { ask, stop } = startOracle(layeringName);
  const salt = Buffer.from(hashSalt).toString('hex');
  return { ask: async (objects) => (await ask({ salt, ...objects })) as NameAnswer, stop };
}
