import type { Plugin } from 'vitest/config';

/** Runs every file `*.mcprove.yml` as tests. */
export default function mcprove(options?: {
  /** The program `mcprove`; by default that of the npm package, or the one on the path. */
  program?: string;
  /** More arguments of `mcprove run`, such as `['--threshold', '60']`. */
  args?: string[];
}): Plugin;
