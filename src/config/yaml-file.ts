import { type Document, isMap, isScalar, LineCounter, type Node, type Pair } from 'yaml';
import { dirname, resolve } from 'node:path/posix';
import { nearestName } from '../lib/nearest.ts';
import { parseYaml } from '../lib/yaml-text.ts';
import type { AgentError } from '../model/failure.ts';
import { configFailure, raise, type Refuse, whatToWrite } from './failures.ts';
import {
  type SettingValue,
  insteadOf,
  isSecret,
  isSettingKey,
  type Layer,
  namesFile,
  secretFiles,
  type SettingKey,
  settingKeys,
} from './settings.ts';

/** The text of a configuration file, with its path. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

const sections = new Set(settingKeys.map((key) => key.replace(/\..*/, '')));

/**
 * The settings of a YAML file, each with its line. Checks keys, not values.
 * @param refuseFirst takes each mistake and leaves out the faulty part; throws the first unless
 * given. For a text that is not YAML, gets only that mistake
 * @throws AgentError `config.malformed-file`, `config.unknown-key`, `config.inline-secret`
 */
export function fileLayer({ path, text }: ConfigFile, refuseFirst: Refuse = raise): Layer {
  const lines = new LineCounter();
  const document = parseYaml(text, { lineCounter: lines });
  const place = (offset: number): string => `file ${path}:${lines.linePos(offset).line}`;
  const [error] = document.errors;
  if (error !== undefined) {
    const message = `${place(error.pos[0])}: ${error.message}`;
    refuseFirst(configFailure('config.malformed-file', message, { context: { file: path } }));
  }
  // After a syntax error, the parser's guesses at the rest are not the user's settings.
  const refuse: Refuse = error === undefined ? refuseFirst : () => undefined;
  const layer = new Map<SettingKey, SettingValue>();
  const addKeys = (top: Entry): void => {
    for (const { name, origin, node } of pairsOf(top.node, { place, refuse })) {
      const key = `${top.name}.${name}`;
      if (!isSettingKey(key)) refuse(unknownKey({ name: key, origin }, settingKeys));
      else if (isSecret(key)) refuse(inlineSecret(key, origin));
      else layer.set(key, { value: besideFile(key, plain(node, document), path), origin });
    }
  };
  for (const top of pairsOf(document.contents, { place, refuse })) {
    if (top.name === 'role') {
      layer.set('role', { value: plain(top.node, document), origin: top.origin });
    } else if (sections.has(top.name)) {
      addKeys(top);
    } else {
      refuse(unknownKey(top, [...sections]));
    }
  }
  return layer;
}

interface Entry {
  readonly name: string;
  readonly origin: string;
  readonly node: Node | null;
}

function pairsOf(
  node: Node | null,
  { place, refuse }: { readonly place: (offset: number) => string; readonly refuse: Refuse },
): readonly Entry[] {
  if (node === null || (isScalar(node) && node.value === null)) return [];
  const origin = place(node.range?.[0] ?? 0);
  if (!isMap(node)) {
    refuse(configFailure('config.malformed-file', `${origin}: a mapping of keys is expected`));
    return [];
  }
  return node.items.map((pair: Pair) => {
    const key = pair.key as Node;
    return {
      name: isScalar(key) ? String(key.value) : key.toString(),
      origin: place(key.range?.[0] ?? 0),
      node: pair.value as Node | null,
    };
  });
}

const plain = (node: Node | null, document: Document.Parsed): unknown =>
  node?.toJS(document) ?? undefined;

/**
 * Resolves a relative path by the folder of its file. `image.stream` may name a stream, which is
 * refused later.
 */
function besideFile(key: SettingKey, value: unknown, file: string): unknown {
  if (!(key in namesFile) || typeof value !== 'string') return value;
  const isPath = value !== '' && !/^[a-z][\w+.-]*:/i.test(value);
  const isWord = key === 'image.stream' && /^[\w-]+$/.test(value);
  return isPath && !isWord ? resolve(dirname(file), value) : value;
}

/** Only a key of this form is shown: the wrong file may contain anything, also a secret. */
const shownName = /^[a-z][a-z\d]{0,31}(?:\.[a-z][a-z\d]{0,31})?$/i;

function unknownKey({ name, origin }: Omit<Entry, 'node'>, known: readonly string[]): AgentError {
  const own = `.${name.replace(/^.*\./, '')}`.toLowerCase();
  // A setting may be in another section, or in none.
  const moved = settingKeys.filter((key) => key.toLowerCase().endsWith(own));
  const near = moved.length > 0 ? moved.join(' or ') : nearestName(name, known);
  const what = shownName.test(name) ? name : 'this key';
  const instead = insteadOf(name);
  return configFailure(
    'config.unknown-key',
    `${origin}: ${what} ${instead === undefined ? 'is not a setting' : 'was removed'}`,
    { hint: whatToWrite(instead, near) },
  );
}

function inlineSecret(key: keyof typeof secretFiles, origin: string): AgentError {
  const what = `${origin}: ${key} is a secret, which a configuration file must not hold`;
  return configFailure('config.inline-secret', what, {
    hint: `write it to a file of its own and name that file in ${secretFiles[key]}`,
    context: { setting: key },
  });
}
