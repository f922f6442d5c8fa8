import { type Document, isMap, isScalar, LineCounter, type Node, type Pair } from 'yaml';
import { nearestName } from '../lib/nearest.ts';
import { parseYaml } from '../lib/yaml-text.ts';
import type { AgentError } from '../model/failure.ts';
import { configFailure, raise, type Refuse } from './failures.ts';
import {
  type Given,
  isSettingKey,
  type Layer,
  secretFiles,
  type SettingKey,
  settingKeys,
} from './settings.ts';

/** A configuration file that was read. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

const sections = new Set(settingKeys.map((key) => key.replace(/\..*/, '')));

/**
 * The settings of a YAML file, each with its line. Values are not checked here, keys are.
 * @param refuse takes each mistake, what it concerns is left out; throws the first unless given
 * @throws AgentError `config.malformed-file`, `config.unknown-key`, `config.inline-secret`
 */
export function fileLayer({ path, text }: ConfigFile, refuse: Refuse = raise): Layer {
  const lines = new LineCounter();
  const document = parseYaml(text, { lineCounter: lines });
  const place = (offset: number): string => `file ${path}:${lines.linePos(offset).line}`;
  const [error] = document.errors;
  if (error !== undefined) {
    const message = `${place(error.pos[0])}: ${error.message}`;
    refuse(configFailure('config.malformed-file', message, { context: { file: path } }));
  }
  const layer = new Map<SettingKey, Given>();
  const addKeys = (top: Entry): void => {
    for (const { name, origin, node } of pairsOf(top.node, { place, refuse })) {
      const key = `${top.name}.${name}`;
      if (!isSettingKey(key)) refuse(unknownKey({ name: key, origin }, settingKeys));
      else if (isSecret(key)) refuse(inlineSecret(key, origin));
      else layer.set(key, { value: plain(node, document), origin });
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

interface Reading {
  readonly place: (offset: number) => string;
  readonly refuse: Refuse;
}

function pairsOf(node: Node | null, { place, refuse }: Reading): readonly Entry[] {
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

function unknownKey({ name, origin }: Omit<Entry, 'node'>, known: readonly string[]): AgentError {
  const near = nearestName(name, known);
  // The wrong file may have anything there, a secret too: no name but those of settings is shown.
  return configFailure('config.unknown-key', `${origin}: this key is not a setting`, {
    ...(near === undefined ? {} : { hint: `did you mean ${near}` }),
  });
}

const isSecret = (key: SettingKey): key is keyof typeof secretFiles =>
  Object.hasOwn(secretFiles, key);

function inlineSecret(key: keyof typeof secretFiles, origin: string): AgentError {
  const what = `${origin}: ${key} is a secret, which a configuration file must not hold`;
  return configFailure('config.inline-secret', what, {
    hint: `write it to a file of its own and name that file in ${secretFiles[key]}`,
    context: { setting: key },
  });
}
