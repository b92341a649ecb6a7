import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { createRenderTemplate, type TemplateInput } from './render-template.ts'

const render = createRenderTemplate()
const input = (change: Partial<TemplateInput>): TemplateInput => ({
  subject: '',
  data: {},
  subjectLengthMax: 998,
  bodyLengthMax: 100_000,
  ...change,
})
const html = (source: string, data: TemplateInput['data'] = {}) => {
  const rendered = render(input({ html: source, data }))
  return rendered.ok ? rendered.html : rendered
}
const subject = (source: string, data: TemplateInput['data'] = {}) => {
  const rendered = render(input({ subject: source, data }))
  return rendered.ok ? rendered.subject : rendered
}

describe('rendering', () => {
  it('fills subject, text and HTML from the same data', () => {
    const source =
      'Hello {{ user.name }}{% if items.size > 1 %}, {{ items.size }} things{% endif %}'
    const data = { user: { name: 'Ada' }, items: [1, 2] }
    expect(render(input({ subject: source, text: source, html: source, data }))).toEqual({
      ok: true,
      subject: 'Hello Ada, 2 things',
      text: 'Hello Ada, 2 things',
      html: 'Hello Ada, 2 things',
    })
  })

  it('parses without data, and answers the template as it is', () => {
    const source = 'Hello {{ user.name }}{{ list | first }}'
    const { data: _, ...parts } = input({ subject: source, html: source })
    expect(render(parts)).toEqual({ ok: true, subject: source, html: source })
    expect(render({ ...parts, html: 'a\n {{ user | nope }}' })).toEqual({
      ok: false,
      problem: 'html: undefined filter: nope, line:2, col:2',
      isTime: false,
    })
    // A division by nothing is an error of the data alone.
    expect(render({ ...parts, html: '{{ 1 | divided_by: x }}' })).toMatchObject({ ok: true })
  })

  it('returns only the given parts', () => {
    expect(render(input({ subject: 'a', text: 'b' }))).toEqual({
      ok: true,
      subject: 'a',
      text: 'b',
    })
  })

  it('escapes values in HTML only', () => {
    const name = `<b onload="x">O'Neil & Co</b>`
    const rendered = render(
      input({
        subject: '{{ name }}',
        text: '{{ name }}',
        html: '<i>{{ name }}</i>',
        data: { name },
      }),
    )
    expect(rendered).toEqual({
      ok: true,
      subject: name,
      text: name,
      html: '<i>&lt;b onload=&#34;x&#34;&gt;O&#39;Neil &amp; Co&lt;/b&gt;</i>',
    })
    expect(html('{{ name | raw }}', { name: '<b>' })).toBe('<b>')
  })

  it.each([
    ['nothing for what is missing', '[{{ a.b.c }}{{ list[7] }}]', '[]'],
    [
      'filters',
      '{{ price | times: 2 | round: 1 }} {{ day | date: "%d.%m.%Y %H:%M" }}',
      '9.1 20.11.2026 13:00',
    ],
    ['loops with else', '{% for x in none %}a{% else %}empty{% endfor %}', 'empty'],
    [
      'a variable made on the way',
      '{% assign x = "a" | upcase %}{% capture y %}{{ x }}!{% endcapture %}{{ y }}',
      'A!',
    ],
    ['raw as it is', '{% raw %}{{ x }}{% endraw %}', '{{ x }}'],
    [
      'arithmetic in decimals',
      '{{ 10.1 | minus: 2.2 }} {{ 3 | times: 19.99 | plus: 0.1 }}',
      '7.9 60.07',
    ],
    ['a division as it is', '{{ 10 | divided_by: 4 }} {{ 5.5 | modulo: 0.1 }}', '2.5 0'],
    [
      'sums',
      '{{ lines | sum: "price" }} {{ lines | map: "price" | sum }} {{ nothing | sum }}',
      '0.3 0.3 0',
    ],
    [
      'an object by its fields, pairs and JSON',
      '{{ o.a }}{% for p in o %}{{ p }}{{ p[0] }}{% endfor %}{{ o | json | raw }}',
      '1a1a{"a":1}',
    ],
    [
      'an object in a comparison or a sum as none',
      '{% if o > 1 %}x{% endif %}{{ o | plus: 1 }}{% if o %}y{% endif %}',
      '1y',
    ],
    ['groups', '{% assign g = lines | group_by: "price" %}{{ g.size }} {{ g[0].name }}', '2 0.1'],
    ['months in English', '{{ day | date: "%B" }}', 'November'],
    ['no prototype', '{{ list.constructor }}{{ a.__proto__.x }}{{ "".constructor.name }}', ''],
  ])('renders %s', (_what, source, expected) => {
    const data = {
      price: 4.55,
      day: '2026-11-20T18:00:00+05:00',
      list: [],
      o: { a: 1 },
      lines: [{ price: 0.1 }, { price: 0.2 }],
    }
    expect(html(source, data)).toBe(expected)
  })

  it('uses UTC for dates, wherever the machine is', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo')
    const date = new Date('2026-11-20T18:00:00Z')
    expect(date.getHours()).toBe(3)
    expect(html('{{ at | date: "%d %H:%M" }}', { at: date.toISOString() })).toBe('20 18:00')
    vi.unstubAllEnvs()
  })

  it('keeps a subject on one line, whatever the data are', () => {
    expect(subject(' {{ a }}\u2028{{ b }} ', { a: 'x\r\nBcc: e@example.com', b: '\ty' })).toBe(
      'x Bcc: e@example.com y',
    )
  })

  it('repairs characters that a filter has cut in two', () => {
    expect(html('{{ x | split: "" | first }}|{{ y | url_decode }}', { x: '🎉', y: 'a' })).toMatch(
      /^.{1,2}\|a$/u,
    )
  })
})

describe('a template that cannot be rendered names the part and the position', () => {
  it.each([
    [
      'an output that is not closed',
      'a {{ name',
      /^html: output "\{\{ name" not closed, line:1, col:3$/,
    ],
    ['a block that is not closed', '{% if a %}', /^html: .*not closed/],
    ['an unknown tag', '{% nope %}', /^html: tag "nope" not found/],
    ['an unknown filter', '{{ a | nope }}', /^html: undefined filter: nope/],
    ['include', "{% include 'x' %}", /^html: tag "include" not found/],
    ['render', "{% render '/etc/passwd' %}", /^html: tag "render" not found/],
    ['layout', "{% layout 'x' %}", /^html: tag "layout" not found/],
    [
      'a range without end',
      '{% for i in (1..1000000000) %}{% endfor %}',
      /^html: memory alloc limit/,
    ],
    [
      'a string that doubles',
      `{% assign x = "aaaaaaaa" %}${'{% assign x = x | append: x %}'.repeat(40)}`,
      /^html: memory alloc limit/,
    ],
    [
      'a capture that doubles',
      `{% assign x = "aaaaaaaa" %}${'{% capture x %}{{ x }}{{ x }}{% endcapture %}'.repeat(40)}`,
      /^html: memory alloc limit/,
    ],
    ['a division by zero', 'a\n {{ 1 | divided_by: none }}', /^html: divided by 0, line:2, col:2$/],
    ['a remainder by zero', '{{ 1 | modulo: 0 }}', /^html: divided by 0, line:1, col:1$/],
    [
      'a number beyond all',
      '{{ huge | times: huge }}',
      /^html: the number is too large, line:1, col:1$/,
    ],
    ['an object', 'a {{ o }}', /^html: an object cannot be printed.*, line:1, col:3$/],
    ['an object as it is', '{{ o | raw }}', /^html: an object cannot be printed.*, line:1, col:1$/],
    ['an object in a list', '{{ list }}', /^html: an object cannot be printed.*, line:1, col:1$/],
    ['an object in a filter', '{{ "a" | append: o }}', /^html: an object cannot be printed/],
    ['an object within one', '{{ o.b }}', /^html: an object cannot be printed/],
    ['a list of groups', '{{ list | group_by: "b" }}', /^html: an object cannot be printed/],
    ['NUL', '{{ "%00" | url_decode }}', /^html: what it renders to contains NUL$/],
    [
      'too long an output',
      '{% for i in (1..1000) %}{{ x | raw }}{% endfor %}',
      /^html: renders to more than 100000 characters$/,
    ],
  ])(
    'a template that cannot be rendered names the part and the position for %s',
    (_what, source, problem) => {
      const data = { x: 'x'.repeat(1_000), o: { b: { c: 1 } }, list: [1, { b: 2 }], huge: 1e308 }
      expect(html(source, data)).toEqual({
        ok: false,
        problem: expect.stringMatching(problem),
        isTime: false,
      })
    },
  )

  it('a template that cannot be rendered names the part and the position for an object in the subject and in a text', () => {
    const o = { a: 1 }
    expect(subject('{{ o }}', { o })).toMatchObject({
      problem: expect.stringMatching(/^subject: an object cannot be printed.*, line:1, col:1$/),
    })
    expect(render(input({ text: '{{ o }}', data: { o } }))).toMatchObject({
      problem: expect.stringMatching(/^text: an object cannot be printed.*, line:1, col:1$/),
    })
  })

  it('a template that cannot be rendered names the part and the position for a subject that is too long, or has a control character', () => {
    expect(subject('{{ x }}', { x: 'x'.repeat(999) })).toMatchObject({
      problem: 'subject: renders to more than 998 characters',
    })
    expect(subject('{{ x }}', { x: 'a\u0007' })).toMatchObject({
      problem: 'subject: what it renders to contains control characters',
    })
  })

  it('nested loops end at their time limit, with the part and the position', () => {
    const loops =
      '{% for i in a %}{% for j in a %}{% for k in a %}{% endfor %}{% endfor %}{% endfor %}'
    expect(html(loops, { a: Array(3_000).fill(0) })).toEqual({
      ok: false,
      problem: 'html: takes too long',
      isTime: true,
    })
  })

  it('a template that cannot be rendered names the part and the position in one short line', () => {
    const rendered = render(input({ html: `{% x\n${'y'.repeat(5_000)} %}` }))
    expect(!rendered.ok && rendered.problem.length).toBeLessThan(600)
    expect(!rendered.ok && rendered.problem).not.toMatch(/[\r\n]/)
  })
})

it('answers something for any input, and a subject is always a header', () => {
  const piece = fc.constantFrom(
    '{{ a }}',
    '{{',
    '}}',
    '{%',
    '%}',
    '{% if a %}',
    '{% endif %}',
    '{% for i in b %}',
    '{% endfor %}',
    '{% raw %}',
    '{{ a | escape }}',
    '{{- b -}}',
    '\r\n',
    '\u0000',
    '\ud800',
    '🎉',
    '| append: a',
    '{{ b | join: a }}',
  )
  const source = fc
    .array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 8 })))
    .map((p) => p.join(''))
  const value = fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue())
  fc.assert(
    fc.property(source, source, value, fc.array(value), (s, h, a, b) => {
      const rendered = render(input({ subject: s, html: h, data: { a, b } }))
      if (!rendered.ok) return rendered.problem.isWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
      return !/[\u0000-\u001f\u007f]/.test(rendered.subject) && (rendered.html ?? '').isWellFormed()
    }),
    { numRuns: 1_000 },
  )
})
