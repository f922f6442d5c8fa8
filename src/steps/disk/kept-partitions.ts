/** Whether arguments for coreos-installer make it keep partitions (`--save-partlabel`, `--save-partindex`). */
export const keepsPartitions = (writerArgs: readonly string[]): boolean =>
  writerArgs.some((word) => /^--save-part(label|index)(=|$)/.test(word));
