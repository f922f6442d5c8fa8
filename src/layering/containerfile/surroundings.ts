import { posix } from 'node:path';
import type { Instruction } from './parse.ts';
import { parentOf, type Stage } from './stages.ts';
import { expanded, quotedWords } from './words.ts';

/** What holds where an instruction stands. */
export interface Surroundings {
  /** The folder that relative paths are below. */
  readonly folder: string;
  readonly variables: ReadonlyMap<string, string>;
}

interface State {
  readonly folder: string;
  /** Values by ENV, which win over those by ARG. */
  readonly environment: ReadonlyMap<string, string>;
  readonly defaults: ReadonlyMap<string, string>;
}

/** An instruction with what holds where it stands. */
export interface Placed extends Surroundings {
  readonly instruction: Instruction;
}

/**
 * The instructions of every stage with their surroundings: a stage goes on with what held at the end of the one
 * that it is built on.
 * @param before the instructions before the first stage, whose ARGs hold where a stage asks for them
 */
export function placedStages(
  stages: readonly Stage[],
  before: readonly Instruction[],
): ReadonlyMap<Stage, readonly Placed[]> {
  const nothing: State = { folder: '/', environment: new Map(), defaults: new Map() };
  const outer = before.reduce((state, one) => after(state, one, new Map()), nothing).defaults;
  const ends = new Map<Stage, State>();
  const placed = new Map<Stage, readonly Placed[]>();
  for (const stage of stages) {
    const parent = parentOf(stages, stage);
    let state = (parent === undefined ? undefined : ends.get(parent)) ?? nothing;
    const found: Placed[] = [];
    for (const instruction of stage.instructions) {
      found.push({ instruction, folder: state.folder, variables: known(state) });
      state = after(state, instruction, outer);
    }
    ends.set(stage, state);
    placed.set(stage, found);
  }
  return placed;
}

/** A path from the top, if that can be told: one that begins with an unknown variable could be anywhere. */
export function absolutePath(
  word: string,
  { folder, variables }: Surroundings,
): string | undefined {
  const path = expanded(word, variables);
  if (path.startsWith('/')) return cleanPath(path);
  return folder === '' || path.startsWith('$') ? undefined : cleanPath(`${folder}/${path}`);
}

/** Without `.`, `..` and doubled or trailing slashes. */
export const cleanPath = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');

const known = ({ environment, defaults }: State): ReadonlyMap<string, string> =>
  new Map([...defaults, ...environment]);

function after(
  state: State,
  { keyword, text }: Instruction,
  outer: ReadonlyMap<string, string>,
): State {
  const variables = known(state);
  if (keyword === 'WORKDIR') {
    return { ...state, folder: absolutePath(text.trim(), { ...state, variables }) ?? '' };
  }
  if (keyword === 'ENV') {
    const set = assignments(text).map(
      ([name, value]) => [name, expanded(value, variables)] as const,
    );
    return { ...state, environment: new Map([...state.environment, ...set]) };
  }
  if (keyword !== 'ARG') return state;
  const set = quotedWords(text).flatMap((word) => {
    const { name = '', value } = /^(?<name>\w+)(?:=(?<value>[\s\S]*))?$/.exec(word)?.groups ?? {};
    const given = value === undefined ? outer.get(name) : expanded(value, variables);
    return given === undefined ? [] : [[name, given] as const];
  });
  return { ...state, defaults: new Map([...state.defaults, ...set]) };
}

/** `NAME=VALUE …`, or the older `NAME VALUE` with one value to the end of the line. */
function assignments(text: string): readonly (readonly [name: string, value: string])[] {
  const older = /^(?<name>[^\s=]+)\s+(?<value>[\s\S]*)$/.exec(text.trim())?.groups;
  if (older !== undefined) return [[older['name'] ?? '', older['value'] ?? '']];
  return quotedWords(text).map((word) => {
    const at = word.indexOf('=');
    return [word.slice(0, Math.max(at, 0)), word.slice(at + 1)];
  });
}
