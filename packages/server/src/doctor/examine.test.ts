import { expect, it } from 'vitest'
import { checkNode } from './examine.ts'

it.each(['22.19.0', '22.20.1', '24.0.0', '100.0.0'])('finds Node.js %s new enough', (version) => {
  expect(checkNode(version)).toEqual({ check: 'node', state: 'ok', detail: version })
})

it.each(['20.20.2', '22.18.9', '9.99.99'])('says of Node.js %s which one is needed', (version) => {
  const detail = `${version}: needs 22.19.0 or later`
  expect(checkNode(version)).toEqual({ check: 'node', state: 'failed', detail })
})
