// What the reference can do beyond being read: search, colors, and trying an operation out.
// Requests go to the address that the page was opened by, whatever its name.
const page = document.documentElement
const root = new URL(page.dataset.up, location.href)
const search = document.querySelector('#search')
const theme = document.querySelector('#theme')
const keyBox = document.querySelector('#key')
const keyInput = keyBox.querySelector('input')
let described

search.hidden = theme.hidden = keyBox.hidden = false
for (const origin of document.querySelectorAll('.origin'))
  origin.textContent = root.href.replace(/\/$/, '')

search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/)
  for (const entry of document.querySelectorAll('nav [data-words]'))
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word))
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
  const button = element('button', { type: 'button', textContent: 'Try it', className: 'try' })
  section.querySelector('.examples').prepend(button)
  button.addEventListener('click', async () => {
    button.disabled = true
    described ??= fetch(new URL('openapi.json', root)).then((response) => response.json())
    button.replaceWith(makeForm(section.dataset, await described))
  })
}

function makeForm({ method, path }, api) {
  const operation = api.paths[path][method.toLowerCase()]
  const parameters = (operation.parameters ?? []).map((one) => resolve(one, api))
  const inputs = parameters.map((parameter) => {
    const value = parameter.in === 'header' ? '' : (parameter.example ?? '')
    return { parameter, input: element('input', { value, name: parameter.name }) }
  })
  const body = operation.requestBody?.content['application/json']
  const text = element('textarea', {
    name: 'body',
    spellcheck: false,
    value: JSON.stringify(body?.example ?? {}, null, 2),
  })
  const send = element('button', { textContent: `Send ${method}`, className: 'send' })
  const output = element('pre', { hidden: true })
  output.setAttribute('role', 'status')
  const form = element('form', { className: 'try' })
  form.append(
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
    output.textContent = await call({ method, path, inputs, body: body && text.value }).catch(
      (error) => `No answer: ${error.message}`,
    )
    send.disabled = false
  })
  return form
}

async function call({ method, path, inputs, body }) {
  const headers = new Headers()
  if (keyInput.value) headers.set('authorization', `Bearer ${keyInput.value}`)
  if (body) headers.set('content-type', 'application/json')
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
