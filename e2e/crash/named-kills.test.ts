/** `CRASH_SEED=1234` repeats a round. The random rounds have a file of their own, which runs beside this one. */
import { it } from 'vitest'
import { expectGreen, firstSeed, ROUND_MS } from './expect-green.ts'
import { namedNemesis } from './nemeses.ts'

it(
  'keeps every promise when each process, and the database, dies or is suspended at each named place',
  () => expectGreen(firstSeed, namedNemesis),
  ROUND_MS,
)
