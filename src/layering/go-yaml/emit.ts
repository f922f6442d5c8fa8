import { openWriter, type Writer, writeString, writeWord } from './writer.ts';

/** What is written: strings, null, lists and mappings. Members that are undefined are left out. */
export type YamlValue =
  string | null | readonly YamlValue[] | { readonly [key: string]: YamlValue | undefined };

/**
 * Writes a value as gopkg.in/yaml.v2 2.4.0 does: keys sorted, lists at the indent of their key, strings in the
 * style that library chooses and folded at 80 columns. Names of builds are hashes of this text, so every byte
 * counts; it is no general writer of YAML.
 */
export function goYaml(value: YamlValue): string {
  const writer = openWriter();
  emit(writer, value, { isMember: false });
  // The end of a document begins a line.
  writer.indent = -1;
  writer.putIndent();
  return writer.text();
}

function emit(
  writer: Writer,
  value: YamlValue,
  { isMember }: { readonly isMember: boolean },
): void {
  if (value === null) {
    writeWord(writer, 'null');
  } else if (typeof value === 'string') {
    indented(writer, deeper(writer.indent, 2), () => writeString(writer, value));
  } else if (isList(value)) {
    emitList(writer, value, isMember);
  } else {
    emitMapping(writer, value);
  }
}

const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const deeper = (indent: number, atTop: number): number => (indent < 0 ? atTop : indent + 2);

function emitList(writer: Writer, items: readonly YamlValue[], isMember: boolean): void {
  if (items.length === 0) {
    writer.putIndicator('[', { needsSpace: true });
    writer.putIndicator(']');
    return;
  }
  const isFlush = isMember && !writer.isIndention() && writer.indent >= 0;
  indented(writer, isFlush ? writer.indent : deeper(writer.indent, 0), () => {
    for (const item of items) {
      writer.putIndent();
      writer.putIndicator('-', { needsSpace: true, keepsIndention: true });
      emit(writer, item, { isMember: false });
    }
  });
}

function emitMapping(
  writer: Writer,
  members: Readonly<Record<string, YamlValue | undefined>>,
): void {
  const present = Object.entries(members).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  if (present.length === 0) {
    writer.putIndicator('{', { needsSpace: true });
    writer.putIndicator('}');
    return;
  }
  indented(writer, deeper(writer.indent, 0), () => {
    for (const [key, value] of present.sort(([a], [b]) => (a < b ? -1 : 1))) {
      writer.putIndent();
      writeString(writer, key);
      writer.putIndicator(':');
      emit(writer, value, { isMember: true });
    }
  });
}

function indented(writer: Writer, indent: number, write: () => void): void {
  const outer = writer.indent;
  writer.indent = indent;
  write();
  writer.indent = outer;
}
