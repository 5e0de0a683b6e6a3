-- For the quota of applications for which nobody is responsible: how many of them came by
-- a metadata document.
CREATE INDEX applications_open_origin ON applications (responsible, origin) WHERE responsible = 'nobody';
