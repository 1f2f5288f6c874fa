local function keep(desiredObj, observedObj, names)
  local from, to = observedObj, desiredObj
  for i = 1, #names - 1 do
    from = from and from[names[i]]
    if to[names[i]] == nil then
      if from == nil then
        return
      end
      to[names[i]] = {}
    end
    to = to[names[i]]
  end
  to[names[#names]] = from and from[names[#names]]
end

local function lease(object)
  local annotations = object.metadata.annotations or {}
  return tonumber(annotations["$LEASE"])
end

function Retain(desiredObj, observedObj)
  local labels = desiredObj.metadata.labels or {}
  if labels["resourcetemplate.karmada.io/retain-replicas"] == "true" then
    $REPLICAS
  end
  local live, incoming = lease(observedObj), lease(desiredObj)
  local givenBack = (desiredObj.metadata.annotations or {})["$LEASE"] == "$GIVEN_BACK"
  if live ~= nil and not givenBack and (incoming == nil or incoming < live) then
    $KEEP
    if desiredObj.metadata.annotations == nil then
      desiredObj.metadata.annotations = {}
    end
    for _, name in ipairs({"$LEASE", "$TEMPLATE", "$GENERATION"}) do
      desiredObj.metadata.annotations[name] = observedObj.metadata.annotations[name]
    end
  end
  return desiredObj
end
