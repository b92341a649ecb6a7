// What the reference can do beyond being read: search, colors, and trying an operation out.
// Requests go to the address that the page was opened by, whatever its name.
const page = document.documentElement
const root = new URL(page.dataset.up, location.href)
const search = document.querySelector('#find-operations')
const theme = document.querySelector('#theme')
const keyBox = document.querySelector('#key')
const keyInput = keyBox.querySelector('input')
let described

search.hidden = theme.hidden = keyBox.hidden = false
for (const origin of document.querySelectorAll('.origin'))
  origin.textContent = root.href.replace(/\/$/, '')

const entries = [...document.querySelectorAll('nav [data-words]')]
const texts = new Map()

/** Title, description and fields of an operation; not its refusals, which many have in common. */
function textOf(entry) {
  const link = entry.querySelector('a').getAttribute('href')
  if (!texts.has(link)) {
    const parts = document.querySelectorAll(`${link} .about > :not(details)`)
    texts.set(link, [...parts].map((part) => part.textContent.toLowerCase()).join('\n'))
  }
  return texts.get(link)
}

/** Those whose names hold all the words, then those that hold them anywhere. */
function find() {
  const words = search.value.toLowerCase().split(/\s+/)
  const has = (text) => words.every((word) => text.includes(word))
  const named = entries.filter((entry) => has(entry.dataset.words))
  const telling = entries.filter((entry) => !named.includes(entry) && has(textOf(entry)))
  return [...named, ...telling]
}

search.addEventListener('input', () => {
  const found = find()
  for (const entry of entries) entry.hidden = !found.includes(entry)
  for (const group of document.querySelectorAll('nav > ul > li'))
    group.hidden = search.value.trim() !== '' && !found.some((entry) => group.contains(entry))
  document.querySelector('#nothing').textContent = found.length > 0 ? '' : 'Nothing found'
})
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') find()[0]?.querySelector('a').click()
})

function isDark() {
  const { theme: chosen } = page.dataset
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}
function nameTheme() {
  theme.textContent = isDark() ? 'Light' : 'Dark'
}
theme.addEventListener('click', () => {
  page.dataset.theme = isDark() ? 'light' : 'dark'
  nameTheme()
})
nameTheme()

for (const section of document.querySelectorAll('.operation[data-method]')) {
  // They are for the dashboard, by its cookie.
  if (section.dataset.path.startsWith('/ui/')) continue
  const button = element('button', { type: 'button', textContent: 'Try it', className: 'try' })
  section.querySelector('.examples').prepend(button)
  button.addEventListener('click', async () => {
    button.disabled = true
    described ??= fetch(new URL('openapi.json', root)).then((response) => response.json())
    const form = makeForm(section.dataset, await described)
    button.replaceWith(form)
    const isFilledKey = (field) => field.matches('.key') && field.value
    ;[...form.elements].find((field) => !isFilledKey(field)).focus()
  })
}

/** There is one key, wherever it is entered. */
document.addEventListener('input', ({ target }) => {
  if (target !== keyInput && !target.matches('form.try .key')) return
  keyInput.value = target.value
  for (const field of document.querySelectorAll('form.try .key')) field.value = target.value
})

function makeForm({ method, path }, api) {
  const operation = api.paths[path][method.toLowerCase()]
  const parameters = (operation.parameters ?? []).map((one) => resolve(one, api))
  const inputs = parameters.map((parameter) => {
    const value = parameter.in === 'header' ? '' : (parameter.example ?? '')
    return { parameter, input: element('input', { value, name: parameter.name }) }
  })
  const [[type, body] = []] = Object.entries(operation.requestBody?.content ?? {})
  const example = body?.example ?? {}
  const text = element('textarea', {
    name: 'body',
    spellcheck: false,
    value: typeof example === 'string' ? example : JSON.stringify(example, null, 2),
  })
  const key = element('input', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: false,
    required: true,
    className: 'key',
    value: keyInput.value,
  })
  const isOperators = !operation.security.some((one) => 'apiKey' in one)
  const send = element('button', { textContent: `Send ${method}`, className: 'send' })
  const output = element('pre', { hidden: true })
  output.setAttribute('role', 'status')
  const form = element('form', { className: 'try' })
  form.append(
    labelled(isOperators ? "Operator's token" : 'API key', key),
    ...inputs.map(({ parameter, input }) => labelled(parameter.name, input)),
    ...(body ? [labelled('Body', text)] : []),
    send,
    output,
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    output.hidden = false
    output.textContent = 'Sending …'
    const request = { method, path, inputs, type, body: body && text.value }
    output.textContent = await call(request).catch((error) => `No answer: ${error.message}`)
    send.disabled = false
  })
  return form
}

async function call({ method, path, inputs, type, body }) {
  const headers = new Headers()
  if (keyInput.value) headers.set('authorization', `Bearer ${keyInput.value}`)
  if (body) headers.set('content-type', type)
  let filled = path.slice(1)
  const query = new URLSearchParams()
  for (const { parameter, input } of inputs) {
    if (parameter.in === 'path')
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value))
    else if (input.value && parameter.in === 'query') query.set(parameter.name, input.value)
    else if (input.value) headers.set(parameter.name, input.value)
  }
  const url = new URL(filled, root)
  url.search = query
  const response = await fetch(url, { method, headers, body: body || undefined })
  const told = await response.text()
  const lines = [`${response.status} ${response.statusText}`]
  for (const name of ['x-request-id', 'retry-after', 'idempotent-replayed'])
    if (response.headers.has(name)) lines.push(`${name}: ${response.headers.get(name)}`)
  return `${lines.join('\n')}\n\n${indented(told)}`
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function resolve(one, api) {
  return one.$ref ? api.components.parameters[one.$ref.split('/').at(-1)] : one
}

function labelled(name, input) {
  const label = element('label', { textContent: name })
  label.append(input)
  return label
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties)
}
