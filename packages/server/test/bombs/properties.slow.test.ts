/** Properties of parsers over hostile input; the soak run tries other seeds and sizes. */
import { bombsOf, casesOf } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { properties } from './properties.ts'

const SEED = 15
const EVERY = casesOf(10, 4)
const BYTES = [700, 5_000]

describe.each(properties)('[Q1] $name', (property) => {
  it.each(property.kinds)('holds for every %s', async (kind) => {
    const bombs = bombsOf(kind, { seed: SEED }).filter((_, i) => i % EVERY === 0)
    for (const bomb of bombs)
      for (const size of BYTES)
        expect(await property.check(bomb.make(size)), bomb.name).toBeUndefined()
  })
})
