import { expect, it } from 'vitest'
import { boundLookups, type LookupResolver } from './bounded-lookups.ts'

const absent = async () => ({ kind: 'absent' as const, aliases: [] })

function counted() {
  const asked: string[] = []
  const resolver: LookupResolver = {
    mx: absent,
    a: absent,
    aaaa: absent,
    ptr: absent,
    aliases: absent,
    async txt(name) {
      asked.push(name)
      return { kind: 'found', records: [name], aliases: [] }
    },
  }
  return { asked, resolver }
}

it('a message asks so many questions, and the others are not asked', async () => {
  const { asked, resolver } = counted()
  const lookup = boundLookups({ resolver, lookupsMax: 2, isOver: () => false })
  expect(await lookup('a.test', 'TXT')).toEqual([['a.test']])
  expect(await lookup('b.test', 'TXT')).toEqual([['b.test']])
  await expect(lookup('c.test', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  expect(asked).toEqual(['a.test', 'b.test'])
})

it('and none once its time is over', async () => {
  const { asked, resolver } = counted()
  const lookup = boundLookups({ resolver, lookupsMax: 2, isOver: () => true })
  await expect(lookup('a.test', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' })
  expect(asked).toEqual([])
})
