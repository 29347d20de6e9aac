// A form with data-passkey asks the browser for a passkey (Web Authentication Level 3,
// section 5.1) before it is sent: "create" creates one, and "get" uses one. data-options has
// the options. The response of the browser goes into the field answer. With data-mediation
// "conditional", the browser also suggests passkeys when it fills in the form.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

const text = (buffer) => buffer && btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

function request(options) {
  options.challenge = bytes(options.challenge);
  if (options.user) options.user.id = bytes(options.user.id);
  for (const list of [options.excludeCredentials, options.allowCredentials]) {
    for (const one of list ?? []) one.id = bytes(one.id);
  }
  return { publicKey: options };
}

function answer(made) {
  const said = made.response;
  return JSON.stringify({
    id: made.id,
    rawId: text(made.rawId),
    type: made.type,
    authenticatorAttachment: made.authenticatorAttachment ?? undefined,
    clientExtensionResults: {},
    response: {
      clientDataJSON: text(said.clientDataJSON),
      attestationObject: text(said.attestationObject),
      transports: said.getTransports?.(),
      authenticatorData: said.attestationObject ? undefined : text(said.authenticatorData),
      signature: text(said.signature),
      userHandle: text(said.userHandle) || undefined,
    },
  });
}

const send = (form, made) => {
  form.elements.answer.value = answer(made);
  form.submit();
};

// offer waits until the user chooses a passkey that the browser suggests. It returns an AbortController that ends the
// waiting, because a browser handles only one request for passkeys at a time.
function offer(form) {
  const end = new AbortController();
  (async () => {
    if (!(await window.PublicKeyCredential?.isConditionalMediationAvailable?.()) || end.signal.aborted) return;
    const made = await navigator.credentials.get({ ...request(JSON.parse(form.dataset.options)), mediation: 'conditional', signal: end.signal });
    if (made) send(form, made);
  })().catch(() => {}); // no passkey was chosen, so the page stays unchanged
  return end;
}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.hidden = !navigator.credentials || (form.dataset.mediation && !window.PublicKeyCredential);
  const problem = form.querySelector('[role=alert][hidden]');
  const button = form.querySelector('button');
  const offered = form.dataset.mediation === 'conditional' && !form.hidden ? offer(form) : undefined;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    offered?.abort();
    try {
      const made = await navigator.credentials[form.dataset.passkey](request(JSON.parse(form.dataset.options)));
      send(form, made);
    } catch {
      problem.hidden = false;
      button.disabled = false;
    }
  });
}
