import { operations } from '@postrider/contract'
import { expect, it } from 'vitest'
import { thingOfParameter } from './absent-thing.ts'

it('has a word for every path parameter of the contract', () => {
  const names = Object.values(operations).flatMap(({ path }) =>
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
  )
  expect([...new Set(names)].sort()).toEqual(Object.keys(thingOfParameter).sort())
})
