import { afterAll, describe, expect, it } from 'vitest'
import type { TemplateInput } from './render-template.ts'
import { createTemplateRenderer, type RenderedTurn } from './template-renderer.ts'

const renderer = createTemplateRenderer()
afterAll(() => renderer.stop())

const input = (html: string, data: TemplateInput['data'] = {}): TemplateInput => ({
  subject: 'Hello {{ name }}',
  html,
  data,
  subjectLengthMax: 998,
  bodyLengthMax: 5_000_000,
})
const big = 'x'.repeat(1_000_000)

describe('templates in threads', () => {
  it('gives the rendered texts', async () => {
    expect(await renderer.render('t', input('<b>{{ name }}</b>', { name: 'Ada' }))).toEqual({
      ok: true,
      subject: 'Hello Ada',
      html: '<b>Ada</b>',
    })
  })

  // What the engine's own limits do not see: parsing, sorting, walking shared structures.
  it.each<[string, string, TemplateInput['data']?]>([
    ['a hundred thousand open blocks', '{% if a %}'.repeat(100_000)],
    ['a hundred thousand cases', `{% case a %}${'{% when 1 %}'.repeat(80_000)}{% endcase %}`],
    [
      'a large sort, again and again',
      '{% assign a = x | split: "" %}{% for i in (1..9999) %}{% assign b = a | sort %}{% endfor %}',
      { x: big },
    ],
    [
      'a list in itself twice, thirty times',
      `{% assign a = x | split: "," %}${'{% assign a = a | push: a | push: a %}'.repeat(30)}{{ a | json }}`,
      { x: 'a,b' },
    ],
    ['a million open outputs', '{{'.repeat(500_000)],
  ])('ends %s, and serves others meanwhile', async (_what, source, data = {}) => {
    const hostile = renderer.render('hostile', input(source, data))
    let isOver = false
    const ended = hostile.then((rendered) => {
      isOver = true
      return rendered
    })
    let others = 0
    do {
      expect(await renderer.render('other', input('ok'))).toMatchObject({ ok: true, html: 'ok' })
      others += 1
    } while (!isOver)
    const rendered = await ended
    // A fast machine gets through some of them in time.
    if (!rendered.ok) expect(rendered.problem).not.toBe('')
    expect(others).toBeGreaterThan(0)
  })

  it('ends an endless template', async () => {
    const endless =
      '{% for i in (1..9999) %}{% for j in (1..9999) %}{{ i }}{% endfor %}{% endfor %}'
    expect(await renderer.render('hostile', input(endless.repeat(20)))).toMatchObject({
      ok: false,
      problem: expect.any(String),
    })
  })

  it('tries once more after the time limit, and not after the CPU or memory limit', async () => {
    const rendered = [{ ok: true, subject: 'Hello' }] as const
    const done = { kind: 'done', output: { rendered, cpuMs: 1 } } as const
    const run = async (limits: ('cpu' | 'time' | 'memory')[]) => {
      const pool = {
        ...renderer,
        run: async () => {
          const limit = limits.shift()
          return limit === undefined ? done : ({ kind: 'overran', limit } as const)
        },
      }
      const rendered = await createTemplateRenderer({ pool }).render('t', input('ok'))
      return rendered.ok ? 'ok' : rendered.problem
    }
    expect(await run([])).toBe('ok')
    expect(await run(['time'])).toBe('ok')
    expect(await run(['time', 'time'])).toBe('takes too long')
    expect(await run(['cpu'])).toBe('takes too long')
    expect(await run(['memory'])).toBe('takes too much memory')
  })

  describe('with each of many data', () => {
    async function turnsOf(html: string, each: readonly object[], data = {}) {
      const turns: RenderedTurn[] = []
      const datas = each as Record<string, unknown>[]
      for await (const turn of renderer.renderEach('t', input(html, data), datas)) turns.push(turn)
      return { turns, rendered: turns.flatMap((turn) => turn.rendered) }
    }

    it('renders quick ones in few turns, each over the data of all', async () => {
      const each = Array.from({ length: 250 }, (_, i) => ({ name: `n${i}` }))
      const { turns, rendered } = await turnsOf('{{ name }} {{ shop }}', each, { shop: 'Tea' })
      expect(rendered).toEqual(
        each.map(({ name }) => ({ ok: true, subject: `Hello ${name}`, html: `${name} Tea` })),
      )
      expect(turns.length).toBeLessThan(each.length / 5)
    })

    it('ends a turn when it has taken long, and goes on in the next', async () => {
      const loop =
        '{% for i in (1..2000) %}{% for j in (1..10) %}{{ name }}{% endfor %}{% endfor %}'
      const each = Array.from({ length: 40 }, (_, i) => ({ name: `n${i}` }))
      const { turns, rendered } = await turnsOf(loop, each)
      expect(rendered.map((one) => one.ok && one.subject)).toEqual(
        each.map(({ name }) => `Hello ${name}`),
      )
      expect(turns.length).toBeGreaterThan(1)
      expect(turns[0]?.cpuMs).toBeGreaterThanOrEqual(100)
    })

    it('fails those alone that take too long, or too much memory', async () => {
      const html = `{% if name == "bad" %}{% assign a = x | split: "," %}${'{% assign a = a | push: a | push: a %}'.repeat(30)}{{ a | json }}{% endif %}ok`
      const each = ['a', 'b', 'bad', 'c', 'd'].map((name) => ({ name }))
      const { rendered } = await turnsOf(html, each, { x: 'a,b' })
      expect(rendered.map(({ ok }) => ok)).toEqual([true, true, false, true, true])
    })
  })
})
