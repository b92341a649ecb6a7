/**
 * What is shared by the files of tests that one process runs ends here, after the last of them and the newest first
 * (vitest.config.ts, `dashboard`).
 */
import type { Environment } from 'vitest/runtime'

const ENDS = Symbol.for('postrider.dashboard.ends')

type End = () => Promise<void>

/** Undefined where nobody ends anything: outside of this environment. */
export function findEnds(): End[] | undefined {
  return (globalThis as { [ENDS]?: End[] })[ENDS]
}

const environment: Environment = {
  name: 'dashboard',
  viteEnvironment: 'ssr',
  setup() {
    const ends: End[] = []
    ;(globalThis as { [ENDS]?: End[] })[ENDS] = ends
    return {
      async teardown() {
        for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end()
      },
    }
  },
}
export default environment
