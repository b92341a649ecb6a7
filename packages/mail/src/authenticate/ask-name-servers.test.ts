import { expect, it } from 'vitest'
import { createNameServerQuestions, type LookupResolver } from './ask-name-servers.ts'
import { keyOf, type Question } from './lookups.ts'

const absent = async () => ({ kind: 'absent' as const, aliases: [] })
const unknown = { kind: 'unknown', why: 'timeout', aliases: [] }
const txt = (name: string): Question => ({ name, type: 'TXT' })

function counted(isSilent: (name: string) => boolean = () => false) {
  const asked: string[] = []
  const resolver: LookupResolver = {
    mx: absent,
    a: absent,
    aaaa: absent,
    ptr: absent,
    aliases: absent,
    txt(name) {
      asked.push(name)
      if (isSilent(name)) return new Promise(() => undefined)
      return Promise.resolve({ kind: 'found', records: [name], aliases: [] })
    },
  }
  const create = (o: { questionsMax?: number; waitMsMax?: number } = {}) =>
    createNameServerQuestions({
      ...{ resolver, questionsMax: 100, waitMsMax: 10_000 },
      monotonicMs: () => performance.now(),
      ...o,
    })
  return { asked, create }
}

it('asks each question once, whatever its case', async () => {
  const { asked, create } = counted()
  const { ask, answers } = create()
  await ask([txt('a.test'), txt('A.test.')])
  await ask([txt('a.test')])
  expect(asked).toEqual(['a.test'])
  expect(answers.get(keyOf(txt('A.TEST')))).toMatchObject({ kind: 'found' })
})

it('asks a bounded number of questions for a message, and answers unknown to the others', async () => {
  const { asked, create } = counted()
  const { ask, answers } = create({ questionsMax: 2 })
  await ask(['a.test', 'b.test', 'c.test'].map(txt))
  expect(asked).toEqual(['a.test', 'b.test'])
  expect(answers.get(keyOf(txt('c.test')))).toEqual(unknown)
})

it('asks nothing after its deadline', async () => {
  const { asked, create } = counted()
  const { ask, answers } = create({ waitMsMax: 0 })
  await ask([txt('a.test')])
  expect(asked).toEqual([])
  expect(answers.get(keyOf(txt('a.test')))).toEqual(unknown)
})

it('ignores an answer that comes after it was given up', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = promise.then(() => ({ kind: 'found' as const, records: ['late'], aliases: [] }))
  const resolver = { mx: absent, a: absent, aaaa: absent, ptr: absent, aliases: absent }
  const { ask, answers } = createNameServerQuestions({
    resolver: { ...resolver, txt: () => late },
    questionsMax: 1,
    waitMsMax: 10,
    monotonicMs: () => performance.now(),
  })
  await ask([txt('late.test')])
  resolve()
  await late
  await ask([txt('late.test')])
  expect(answers.get(keyOf(txt('late.test')))).toEqual(unknown)
})

it('gives up on a silent server, and asks others the remaining questions', async () => {
  const { asked, create } = counted((name) => name === 'silent.test')
  const { ask, answers } = create({ waitMsMax: 500 })
  await ask([txt('silent.test'), txt('a.test')])
  await ask([txt('b.test')])
  expect(asked).toEqual(['silent.test', 'a.test', 'b.test'])
  expect(answers.get(keyOf(txt('silent.test')))).toEqual(unknown)
  expect(answers.get(keyOf(txt('b.test')))).toMatchObject({ kind: 'found' })
})
