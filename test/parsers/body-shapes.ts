import { fileLayer } from '../../src/config/yaml-file.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { mergeSingleNode } from '../../src/ignition/merge.ts';
import { lintMachineConfigs } from '../../src/layering/manifests/lint-machine-config.ts';
import { masker } from '../../src/lib/masker.ts';
import { Secret } from '../../src/model/secret.ts';
import type { TextOfSize } from './growth.ts';

/** A reader, and a text with the form that it expects and many parts of one kind in it. */
interface BodyShape {
  readonly about: string;
  readonly read: (text: string) => void;
  readonly textOf: TextOfSize;
}

/** As many parts as fit, each made from its number, between a head and a tail. */
const parts =
  (head: string, part: (index: number) => string, tail = ''): TextOfSize =>
  (size) => {
    const made: string[] = [head];
    let length = head.length;
    for (let index = 0; length < size; index += 1) {
      const next = part(index);
      made.push(index === 0 ? next.replace(/^,/, '') : next);
      length += next.length;
    }
    return [...made, tail].join('');
  };

const ignition = (rest: string): string => `{"ignition":{"version":"3.4.0"},${rest}`;
const readIgnition = (text: string): void => void parseValidConfig(text);

const osConfig = [
  'apiVersion: machineconfiguration.openshift.io/v1',
  'kind: MachineOSConfig',
  'metadata:',
  '  name: worker',
  'spec:',
  '',
].join('\n');
const readLayering = (text: string): void =>
  void lintMachineConfigs([{ path: 'x', bytes: Buffer.from(text), isInFolder: false }]);

/** Shapes that a text pumped with one unit never has. */
export const bodyShapes: readonly BodyShape[] = [
  {
    about: 'files of an Ignition config below links',
    read: readIgnition,
    textOf: parts(
      ignition('"storage":{"links":['),
      (index) => `,{"path":"/l${index}","target":"/t"}`,
      `],"files":[${Array.from({ length: 1000 }, (_, index) => `{"path":"/f/${index}"}`).join()}]}}`,
    ),
  },
  {
    about: 'a path of many folders in an Ignition config with a link',
    read: readIgnition,
    textOf: parts(
      ignition('"storage":{"links":[{"path":"/l","target":"/t"}],"files":[{"path":"'),
      () => '/a',
      '"}]}}',
    ),
  },
  {
    about: 'unknown keys of an Ignition config',
    read: readIgnition,
    textOf: parts(ignition(''), (index) => `,"storagee${index}":1`, '}'),
  },
  {
    about: 'an unknown key of an Ignition config',
    read: readIgnition,
    textOf: parts(ignition('"'), () => 'storage', '":1}'),
  },
  {
    about: 'units that are merged',
    read: (text) => {
      mergeSingleNode(text, text);
    },
    textOf: parts(
      ignition('"systemd":{"units":['),
      (index) => `,{"name":"u${index}.service"}`,
      ']}}',
    ),
  },
  {
    about: 'an unknown key of a configuration',
    read: (text) => void fileLayer({ path: 'x', text }),
    textOf: parts('disk:\n  ', () => 'device', ': 1\n'),
  },
  {
    about: 'Containerfiles of a MachineOSConfig',
    read: readLayering,
    textOf: parts(`${osConfig}  containerFile:\n`, (index) => `  - containerfileArch: A${index}\n`),
  },
  {
    about: 'unknown fields of a MachineOSConfig',
    read: readLayering,
    textOf: parts(osConfig, (index) => `  machineConfigPoo${index}: a\n`),
  },
  {
    about: 'a secret in a text',
    read: (text) => {
      const { register, mask } = masker();
      register(new Secret('a'.repeat(40)));
      mask(text);
    },
    textOf: parts('', () => 'a'),
  },
];
